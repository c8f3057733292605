// Stretches in which a device lay idle, and what the host did under them (StriaTrace §5.3).
//
// A gap is explained by the thread that launched the work after it, in the stretch before that launch came: a synchronizing call there is
// `sync`, communication of the host (a collective or a receive of a peer's) is `communication`, anything else, or the mere lateness of the
// launch, is `cpu`. Waiting for an order of another process, where the innermost span over half of the stretch takes from a queue between
// processes, polls a socket or is the loop that does so (is_queue_wait()), is `communication` as well: the thread did nothing itself, and
// `host_span` is that wait. Work that was launched long before and did not start, a gap under a graph whose kernels are not in the capture, and one
// for which the host recorded nothing are `unknown`. Values in, values out; any thread with its own reader.
#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "core/capture_reader.h"
#include "core/device_busy.h"
#include "core/layer_rules.h"
#include "core/model.h"
#include "core/result.h"
#include "core/span_index.h"
#include "core/stack_sample.h"
#include "core/step_parts.h"
#include "core/step_verdict.h"

namespace faultline {

/// Whether a call returns only when the device, a stream or an event is done.
[[nodiscard]] bool is_sync_call(std::string_view name) noexcept;

/// Whether a frame, range or call of the host waits for a message of another process: vLLM's shm_broadcast and worker_busy_loop,
/// multiprocessing queues and pipes, ZeroMQ, poll and epoll_wait.
[[nodiscard]] bool is_queue_wait(std::string_view name) noexcept;

/// Graph launches that brought no device work into the capture while others did, by start: what runs under them cannot be seen.
struct HiddenGraph {
    TrackId track{};
    TimeNs start = 0, end = 0;
    std::int64_t step = kNull;
};
[[nodiscard]] Result<std::vector<HiddenGraph>> hidden_graphs(const CaptureReader& capture, const SpanIndex& index);

struct BubbleInput {
    const CaptureReader& capture;
    const SpanIndex& index;
    const LayerRules& layers;
    std::span<const Step> steps;
    const CountedSteps& counted;
    std::span<const DeviceBusy> devices;
    std::span<const StackSample> stacks;  ///< by time, those without a time first
    std::span<const HiddenGraph> hidden;  ///< by start
};

/// By device and start; ids from 1.
[[nodiscard]] Result<std::vector<Bubble>> explain_gaps(const BubbleInput& input, std::stop_token stop = {});

}  // namespace faultline
