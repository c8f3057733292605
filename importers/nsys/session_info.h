// What an export says about itself: versions, clock, host, devices, processes, threads, ranks and trouble (FORMATS §1.1, §1.2).
#pragma once

#include <string>

#include "importers/nsys/nvtx_ranges.h"
#include "importers/nsys/session.h"

namespace faultline::nsys {

/// Before the events: versions, when the session began, how long it was, which device is which.
class SessionInfo {
public:
    explicit SessionInfo(Session& session) : s_(session) {}

    void read();
    /// After the events: names of what has spans, and the source's own row.
    void finish(const NvtxReader& nvtx);
    /// Cheap calls were left out on purpose (CUDA_SKIP_SOME_API_CALLS).
    [[nodiscard]] bool skipped_calls() const noexcept { return skipped_calls_; }

private:
    void read_versions();
    void read_clock();
    void read_environment();
    void read_adapters();
    void read_device_map();
    void read_diagnostics();
    void name_processes();
    void name_threads(const NvtxReader& nvtx);
    void name_devices();
    void read_ranks();

    struct Adapter {
        std::int64_t id = 0;
        std::string name;
        std::int64_t cuda_ordinal = kNull;  ///< where the table has it
        std::string properties;
    };

    Session& s_;
    std::string product_, version_, schema_;
    std::string export_json_, capture_json_, environment_json_;
    std::vector<Adapter> adapters_;
    bool skipped_calls_ = false;
};

}  // namespace faultline::nsys
