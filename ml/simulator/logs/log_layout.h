// How an entry stands in a file: prefixes, stamps, levels and repeated headers of each engine and of what runs beside it (FORMATS §7.1).
// One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ml/simulator/base/event.h"
#include "ml/simulator/base/run_options.h"
#include "ml/simulator/base/topology.h"

namespace faultline::simulator {

class LogFormatter {
public:
    LogFormatter(const RunOptions& options, const Topology& topology);

    /// The lines of `entry`, each with its line feed, behind what `out` holds.
    void append(std::string& out, const LogEntry& entry);

private:
    /// What a stamp consists of; computed once a second and node.
    struct Second {
        std::int64_t second = -1;
        std::string date, month_day, time, syslog, glog;  ///< 2026-11-30, 11-30, 21:44:40, Nov 30 21:44:40, 1130
    };

    void vllm(std::string& out, const LogEntry& entry, const Second& s) const;
    void sglang(std::string& out, const LogEntry& entry, const Second& s) const;
    void fsdp(std::string& out, const LogEntry& entry, const Second& s, TimeNs local) const;
    void access(std::string& out, const LogEntry& entry, const Second& s) const;
    void bare(std::string& out, const LogEntry& entry) const;
    void torch_cpp(std::string& out, const LogEntry& entry, const Second& s, TimeNs local) const;
    void nccl(std::string& out, const LogEntry& entry, const Second& s) const;
    void kernel(std::string& out, const LogEntry& entry, const Second& s) const;
    [[nodiscard]] const Second& second(NodeIndex node, TimeNs local);

    Engine engine_;
    const Topology* topology_;
    std::vector<Second> seconds_;        ///< by node
    std::vector<std::string> prefixes_;  ///< by process: what stands before each of its lines
    std::vector<std::string> ranks_;     ///< by process: the words of SGLang's stamp
    std::vector<int> global_ranks_, devices_;
    std::vector<std::int64_t> tids_;
};

}  // namespace faultline::simulator
