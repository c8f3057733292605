#include "ml/simulator/logs/log_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <utility>

namespace faultline::simulator {
namespace {

constexpr TimeNs kSecond = 1'000'000'000;

constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::string_view level_word(LogLevel level) {
    switch (level) {
        case LogLevel::debug: return "DEBUG";
        case LogLevel::info: return "INFO";
        case LogLevel::warning: return "WARNING";
        case LogLevel::error: return "ERROR";
        case LogLevel::critical: return "CRITICAL";
    }
    return "INFO";
}

char level_letter(LogLevel level) {
    switch (level) {
        case LogLevel::debug:
        case LogLevel::info: return 'I';
        case LogLevel::warning: return 'W';
        case LogLevel::error: return 'E';
        case LogLevel::critical: return 'F';
    }
    return 'I';
}

/// Calls `each` with every line of `text`, and whether it is the last.
template <class Each>
void for_lines(std::string_view text, Each each) {
    for (;;) {
        const std::size_t end = text.find('\n');
        each(text.substr(0, end), end == std::string_view::npos);
        if (end == std::string_view::npos) return;
        text.remove_prefix(end + 1);
    }
}

std::string prefix_of(Engine engine, const Topology& topology, const ProcessInfo& p) {
    switch (engine) {
        case Engine::vllm_v0: return p.role == ProcessRole::worker ? fmt::format("(VllmWorkerProcess pid={}) ", p.pid) : std::string();
        case Engine::vllm_v1_offline:
        case Engine::vllm_v1_online: break;
        case Engine::sglang: return {};
        case Engine::fsdp: {
            if (p.role != ProcessRole::fsdp_rank) return {};
            int local = 0;
            for (const ProcessInfo& other : topology.processes)
                if (other.role == ProcessRole::fsdp_rank && other.node == p.node && other.instance == p.instance && other.rank < p.rank)
                    ++local;
            return fmt::format("[default{}]:", local);
        }
    }
    const std::string dp = p.dp_rank >= 0 ? fmt::format("DP{}", p.dp_rank) : std::string();
    if (p.role == ProcessRole::api_server) return fmt::format("(APIServer pid={}) ", p.pid);
    if (p.role == ProcessRole::engine_core) return fmt::format("(EngineCore{}{} pid={}) ", dp.empty() ? "" : "_", dp, p.pid);
    if (p.role == ProcessRole::worker)
        return fmt::format("(Worker_{}{}TP{} pid={}) ", dp, dp.empty() ? "" : "_", std::max(0, p.rank), p.pid);
    return {};
}

std::string words_of(const Topology& topology, const ProcessInfo& p) {
    std::string words;
    if (p.role != ProcessRole::scheduler) return words;
    const bool several = std::any_of(topology.processes.begin(), topology.processes.end(), [&](const ProcessInfo& other) {
        return other.role == ProcessRole::scheduler && other.instance == p.instance && other.rank > 0;
    });
    if (p.dp_rank >= 0) words += fmt::format(" DP{}", p.dp_rank);
    if (several) words += fmt::format(" TP{}", std::max(0, p.rank));
    return words;
}

}  // namespace

LogFormatter::LogFormatter(const RunOptions& options, const Topology& topology)
    : engine_(options.deployment.engine), topology_(&topology), seconds_(topology.nodes.size()) {
    for (std::size_t i = 0; i < topology.processes.size(); ++i) {
        const ProcessInfo& p = topology.processes[i];
        prefixes_.push_back(prefix_of(engine_, topology, p));
        ranks_.push_back(words_of(topology, p));
        // torch's rank is that in the world: of all data-parallel groups together.
        global_ranks_.push_back(std::max(0, p.dp_rank) * std::max(1, options.deployment.tp) + std::max(0, p.rank));
        devices_.push_back(0);
        tids_.push_back(p.pid);
        for (const DeviceInfo& device : topology.devices)
            if (static_cast<std::size_t>(device.process) == i) {
                devices_.back() = device.ordinal;
                break;
            }
        for (const ThreadInfo& thread : topology.threads)
            if (static_cast<std::size_t>(thread.process) == i && thread.name == "MainThread") tids_.back() = thread.tid;
    }
}

const LogFormatter::Second& LogFormatter::second(NodeIndex node, TimeNs local) {
    Second& s = seconds_[static_cast<std::size_t>(node)];
    const std::int64_t number = local / kSecond;
    if (s.second == number) return s;
    s.second = number;
    const std::chrono::sys_seconds at{std::chrono::seconds(number)};
    const auto midnight = std::chrono::floor<std::chrono::days>(at);
    const std::chrono::year_month_day day(midnight);
    const std::chrono::hh_mm_ss clock(at - midnight);
    const auto month = static_cast<unsigned>(day.month()), date = static_cast<unsigned>(day.day());
    s.date = fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()), month, date);
    s.month_day = fmt::format("{:02}-{:02}", month, date);
    s.time = fmt::format("{:02}:{:02}:{:02}", clock.hours().count(), clock.minutes().count(), clock.seconds().count());
    s.syslog = fmt::format("{} {:2} {}", kMonths[month - 1], date, s.time);
    s.glog = fmt::format("{}{:02}", month, date);
    return s;
}

void LogFormatter::append(std::string& out, const LogEntry& entry) {
    const NodeIndex node = topology_->process(entry.process).node;
    const TimeNs local = topology_->node_of(entry.process).clock.at(entry.time);
    const Second& s = second(node, local);
    switch (entry.layout) {
        case LogLayout::engine:
            if (engine_ == Engine::sglang) return sglang(out, entry, s);
            if (engine_ == Engine::fsdp) return fsdp(out, entry, s, local);
            return vllm(out, entry, s);
        case LogLayout::access: return access(out, entry, s);
        case LogLayout::bare: return bare(out, entry);
        case LogLayout::torch_cpp: return torch_cpp(out, entry, s, local);
        case LogLayout::nccl_info:
        case LogLayout::nccl_warn: return nccl(out, entry, s);
        case LogLayout::kernel: return kernel(out, entry, s);
    }
}

/// `(EngineCore pid=12244) INFO 11-30 21:44:40 [core.py:349] msg`; up to 0.7 no bracket opens before the file. Every line has the header,
/// with a carriage return before the line feeds inside.
void LogFormatter::vllm(std::string& out, const LogEntry& entry, const Second& s) const {
    for_lines(entry.text, [&](std::string_view line, bool last) {
        fmt::format_to(std::back_inserter(out), "{}{} {} {} {}{}:{}] {}{}", prefixes_[static_cast<std::size_t>(entry.process)],
                       level_word(entry.level), s.month_day, s.time, engine_ == Engine::vllm_v0 ? "" : "[", entry.file, entry.line, line,
                       last ? "\n" : "\r\n");
    });
}

/// `[2026-11-30 11:11:18 TP0] msg`, without level; further lines as they are.
void LogFormatter::sglang(std::string& out, const LogEntry& entry, const Second& s) const {
    fmt::format_to(std::back_inserter(out), "[{} {}{}] {}\n", s.date, s.time, ranks_[static_cast<std::size_t>(entry.process)], entry.text);
}

/// `[default0]:2026-11-30 11:11:18,123 - INFO - generate.py:58 - msg`: Python's logging under torchrun --tee 3.
void LogFormatter::fsdp(std::string& out, const LogEntry& entry, const Second& s, TimeNs local) const {
    const std::string& prefix = prefixes_[static_cast<std::size_t>(entry.process)];
    bool first = true;
    for_lines(entry.text, [&](std::string_view line, bool) {
        out += prefix;
        if (first)
            fmt::format_to(std::back_inserter(out), "{} {},{:03} - {} - {}:{} - ", s.date, s.time, local % kSecond / 1'000'000,
                           level_word(entry.level), entry.file, entry.line);
        out += line;
        out += '\n';
        first = false;
    });
}

/// `INFO:     10.60.1.149:54426 - "POST /v1/chat/completions HTTP/1.1" 200 OK`, and what else uvicorn says.
void LogFormatter::access(std::string& out, const LogEntry& entry, const Second& s) const {
    if (engine_ == Engine::sglang) fmt::format_to(std::back_inserter(out), "[{} {}] ", s.date, s.time);
    const std::string_view level = level_word(entry.level);
    fmt::format_to(std::back_inserter(out), "{}{}:{:{}}{}\n", prefixes_[static_cast<std::size_t>(entry.process)], level, "",
                   9 - level.size(), entry.text);
}

void LogFormatter::bare(std::string& out, const LogEntry& entry) const {
    for_lines(entry.text, [&](std::string_view line, bool) {
        out += prefixes_[static_cast<std::size_t>(entry.process)];
        out += line;
        out += '\n';
    });
}

/// `[rank0]:[E1130 02:07:08.408271257 ProcessGroupNCCL.cpp:607] msg`; C++ writes past the prefixes that Python puts before lines.
void LogFormatter::torch_cpp(std::string& out, const LogEntry& entry, const Second& s, TimeNs local) const {
    const auto p = static_cast<std::size_t>(entry.process);
    bool first = true;
    for_lines(entry.text, [&](std::string_view line, bool) {
        if (engine_ == Engine::fsdp) out += prefixes_[p];
        if (first)
            fmt::format_to(std::back_inserter(out), "[rank{}]:[{}{} {}.{:09} {}:{}] ", global_ranks_[p], level_letter(entry.level), s.glog,
                           s.time, local % kSecond, entry.file, entry.line);
        out += line;
        out += '\n';
        first = false;
    });
}

/// `host:pid:tid [dev] NCCL INFO msg`; a warning has an empty line before it, a stamp and its place.
void LogFormatter::nccl(std::string& out, const LogEntry& entry, const Second& s) const {
    const auto p = static_cast<std::size_t>(entry.process);
    const ProcessInfo& process = topology_->process(entry.process);
    const std::string& host = topology_->node_of(entry.process).host;
    const std::string_view prefix = engine_ == Engine::fsdp ? std::string_view(prefixes_[p]) : std::string_view();
    if (entry.layout == LogLayout::nccl_info)
        fmt::format_to(std::back_inserter(out), "{}{}:{}:{} [{}] NCCL INFO {}\n", prefix, host, process.pid, tids_[p], devices_[p],
                       entry.text);
    else
        fmt::format_to(std::back_inserter(out), "{}\n{}[{} {}] {}:{}:{} [{}] {}:{} NCCL WARN {}\n", prefix, prefix, s.date, s.time, host,
                       process.pid, tids_[p], devices_[p], entry.file, entry.line, entry.text);
}

/// `Nov 30 05:03:41 host kernel: [22859.081860] NVRM: Xid (PCI:0000:01:00): 31, …`
void LogFormatter::kernel(std::string& out, const LogEntry& entry, const Second& s) const {
    const NodeInfo& node = topology_->node_of(entry.process);
    const TimeNs up = std::max<TimeNs>(0, entry.time - node.boot);
    for_lines(entry.text, [&](std::string_view line, bool) {
        fmt::format_to(std::back_inserter(out), "{} {} kernel: [{:5}.{:06}] {}\n", s.syslog, node.host, up / kSecond, up % kSecond / 1000,
                       line);
    });
}

}  // namespace faultline::simulator
