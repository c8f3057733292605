// What writers know of a name beside its text, found out once for each name: call numbers, suffixes of versions, whether a call starts
// device work. Numbers are those of CUPTI (cupti_runtime_cbid.h, cupti_driver_cbid.h).
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "ml/simulator/base/names.h"

namespace faultline::simulator {

/// What a call waits for, or makes a stream wait for: the synchronisation types of CUPTI (FORMATS §1.4).
enum class Waits : std::uint8_t { nothing, event, stream_for_event, stream, context };

struct NameFacts {
    std::string json;                  ///< escaped for JSON
    std::uint32_t callback = 0;        ///< of calls; 0: not known
    bool launches = false;             ///< a call that starts device work
    Waits waits = Waits::nothing;      ///< of calls
    bool collective = false;           ///< an NCCL kernel
    std::uint32_t registers = 0;       ///< per thread, of kernels; follows from the name
    std::uint32_t shared = 0;          ///< bytes of shared memory of a block
    std::string_view collective_name;  ///< allreduce
    std::int64_t module = -1;          ///< of Python frames: the number of the module that is called; -1: it is no call of one
};

[[nodiscard]] NameFacts name_facts(std::string_view text);
/// cudaLaunchKernel_v7000: the name of a call as Nsight Systems writes it.
[[nodiscard]] std::string versioned_call(std::string_view call);
/// The function of a kernel without return type, namespaces, template and arguments.
[[nodiscard]] std::string short_kernel_name(std::string_view name);

/// The facts of interned names. One thread.
class KnownNames {
public:
    explicit KnownNames(const Names& names) : names_(names) {}
    [[nodiscard]] const NameFacts& of(Name name) {
        const auto at = static_cast<std::size_t>(name);
        while (facts_.size() <= at) facts_.push_back(name_facts(names_.text(static_cast<Name>(facts_.size()))));
        return facts_[at];
    }
    [[nodiscard]] std::string_view text(Name name) const { return names_.text(name); }

private:
    const Names& names_;
    std::deque<NameFacts> facts_;
};

}  // namespace faultline::simulator
