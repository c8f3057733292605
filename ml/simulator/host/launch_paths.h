// What stands around the call that launches a kernel in a trace: Python frames and operators, outermost first, by engine (names and nesting as in traces
// of vLLM, SGLang and Hugging Face code). Paths of neighbours share their beginnings, as neighbours in a model do. One thread; interns names.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ml/simulator/base/names.h"
#include "ml/simulator/base/run_options.h"
#include "ml/simulator/machine/op.h"

namespace faultline::simulator {

struct LaunchPath {
    struct Entry {
        Name name{};
        EventKind kind{};  ///< op or python
        bool operator==(const Entry&) const = default;
    };
    std::vector<Entry> entries;
    std::size_t shared = 0;                ///< so many of the first may be those of the launch before; the others are its own
    std::vector<std::vector<Name>> views;  ///< operators that launch nothing, each a chain, inside of the first operator that is its own
    std::vector<Name> questions;           ///< calls that ask the runtime something before the launch
};

class LaunchPaths {
public:
    LaunchPaths(const RunOptions& options, Names& names);
    /// `in_graph`: the launch of a graph of which `op` is the first node. The reference lasts until the next call.
    [[nodiscard]] const LaunchPath& of(const Op& op, bool in_graph) const;
    /// Whether the same operator launches `op` that launched `before`.
    [[nodiscard]] static bool joins(const Op& op, const Op& before);

private:
    const RunOptions options_;
    Names* names_;
    std::shared_ptr<std::unordered_map<std::uint32_t, LaunchPath>> known_;  ///< looked up alone, so that its order is nobody's; shared by copies
};

}  // namespace faultline::simulator
