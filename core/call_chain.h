// The call-chain tree of a step (TELLER §3.3): STEP, FRONTEND and BACKEND ranges and operators, host calls, kernels, communication.
//
// Values in, values out; any thread with its own reader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/capture_reader.h"
#include "core/launch_index.h"
#include "core/layer_rules.h"
#include "core/model.h"
#include "core/result.h"

namespace faultline {

/// A node; `layer` as in CONTRACT.md. Python frames are kept only where `ChainOptions::python` asks for them.
struct ChainNode {
    SpanId span{};
    std::int64_t parent = -1;  ///< position in CallChain::nodes, -1 for a root
    LayerClass layer = LayerClass::none;
    SpanKind kind = SpanKind::other;
    NameId name{};
    TimeNs start = 0;
    TimeNs duration = 0;
    TrackId track{};
    std::optional<std::int64_t> correlation;
};

struct CallChain {
    Step step;
    std::vector<ChainNode> nodes;  ///< parents before children, roots first; depth-first order
};

struct ChainOptions {
    bool python = false;
};

/// The tree of a step: its ranges, operators and calls, and the device work under the calls that launched it. Every node has a layer: of
/// its own by the rules, else that of the node around it. Reads only the chunks of the step's time. Error where there is no such step.
[[nodiscard]] Result<CallChain> step_chain(const CaptureReader& capture, const LayerRules& layers, StepId step, ChainOptions options = {});

/// The chain of one span: what encloses it, or for a device span what encloses its launch; and everything that it launched.
/// What the window lights up when a span is selected.
struct SpanChain {
    std::vector<SpanId> ancestors;  ///< outermost first; for a device span its launch is among them; the span itself stands last
    std::vector<SpanId> launched;   ///< device spans launched by a host span or by what it holds, by launch (at most 100,000)
    bool launched_truncated = false;
    std::optional<StepId> step;
};

/// `launches` makes it fast enough for every click (BUDGETS: within 16 ms at 5 M spans; it reads a handful of chunks then); without it
/// the launches of the whole capture are read first.
[[nodiscard]] Result<SpanChain> span_chain(const CaptureReader& capture, SpanId span, const LaunchIndex* launches = nullptr);

}  // namespace faultline
