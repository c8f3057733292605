#include "ml/simulator/writers/nsys_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "core/simulated.h"
#include "ml/simulator/writers/gpu_facts.h"
#include "ml/simulator/writers/nsys_enums.h"
#include "ml/simulator/writers/nsys_schema.h"

namespace faultline::simulator {

namespace {

constexpr std::uint64_t kMachine = std::uint64_t{1} << 48;  // FORMATS §1.2
constexpr std::int64_t kGlobalVm = static_cast<std::int64_t>(kMachine);
constexpr std::uint64_t kIdMask = 0xFFFFFF;
constexpr std::int64_t kPushPop = 59, kDomainCreate = 75, kRangesDomain = 1, kMetricSource = 0x0100'0000'0000;

struct Copy {
    std::int64_t kind, from, to;  ///< FORMATS §1.4: 0 pageable, 1 pinned, 2 device
};
Copy copy_of(CopyKind kind) {
    switch (kind) {
        case CopyKind::host_to_device: return {1, 1, 2};
        case CopyKind::device_to_host: return {2, 2, 1};
        case CopyKind::pageable_to_device: return {1, 0, 2};
        case CopyKind::device_to_pageable: return {2, 2, 0};
        case CopyKind::device_to_device:
        case CopyKind::none: break;
    }
    return {8, 2, 2};
}

/// ISO seconds without a zone, as exports have them.
std::string iso(TimeNs epoch) {
    const std::chrono::sys_seconds at{std::chrono::seconds(epoch / 1'000'000'000)};
    const auto day = std::chrono::floor<std::chrono::days>(at);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss time{at - day};
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", int{date.year()}, unsigned{date.month()}, unsigned{date.day()},
                       time.hours().count(), time.minutes().count(), time.seconds().count());
}

tl::unexpected<Error> passed_on(const Error& error) {
    Error writing = error;
    if (writing.code == ErrorCode::unusable_input) writing.code = ErrorCode::unwritable_output;
    return tl::unexpected<Error>(std::move(writing));
}

}  // namespace

NsysFile::NsysFile(sql::Connection db, bool older, NodeIndex node, const Topology& topology, KnownNames& names, TimeNs start)
    : db_(std::move(db)),
      older_(older),
      node_(node),
      topology_(topology),
      names_(names),
      clock_(topology.nodes[static_cast<std::size_t>(node)].clock),
      session_(clock_.at(start)) {}

Result<std::unique_ptr<NsysFile>> NsysFile::open(const std::string& path, bool older, NodeIndex node, const RunOptions& options,
                                                 const Topology& topology, KnownNames& names, TimeNs start) {
    std::remove(path.c_str());
    auto db = sql::Connection::open(path, sql::OpenMode::create);
    if (!db) return passed_on(db.error());
    std::unique_ptr<NsysFile> file(new NsysFile(std::move(*db), older, node, topology, names, start));
    // The file is made anew: what a crash leaves is thrown away, so no journal and no syncs.
    if (auto done = file->db_.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-16384; BEGIN;"); !done)
        return passed_on(done.error());
    if (auto done = file->db_.execute(std::string(older ? nsys_older_tables() : nsys_tables())); !done) return passed_on(done.error());
    if (auto done = write_nsys_enums(file->db_, older); !done) return passed_on(done.error());
    if (auto done = file->prepare(); !done) return passed_on(done.error());
    if (auto done = file->describe(options); !done) return passed_on(done.error());
    if (auto done = file->describe_processes(); !done) return passed_on(done.error());
    return file;
}

Result<void> NsysFile::prepare() {
    const std::array<std::pair<sql::Statement*, std::string_view>, 7> all{
        {{&strings_, "INSERT INTO StringIds VALUES (?1, ?2)"},
         {&ranges_,
          "INSERT INTO NVTX_EVENTS (start, \"end\", eventType, text, globalTid, textId, domainId) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"},
         {&calls_,
          "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, \"end\", eventClass, globalTid, correlationId, nameId, returnValue) "
          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)"},
         {&kernels_,
          "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, demangledName, "
          "shortName, launchType, cacheConfig, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, "
          "dynamicSharedMemory, localMemoryPerThread, localMemoryTotal, gridId, graphNodeId) "
          "VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6, ?7, ?8, 1, 0, ?9, ?10, 1, 1, ?11, 1, 1, 0, ?13, 0, 0, 0, ?12)"},
         {&copies_,
          "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, bytes, "
          "copyKind, "
          "srcKind, dstKind, graphNodeId) VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"},
         {&sets_,
          "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET (start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, value, bytes, "
          "memKind, graphNodeId) VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6, 0, ?7, 2, ?8)"},
         {&waits_,
          "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, syncType, "
          "eventId) VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6, ?7, ?8)"}}};
    for (const auto& [statement, text] : all) {
        auto made = db_.prepare(text);
        if (!made) return tl::unexpected<Error>(made.error());
        *statement = std::move(*made);
    }
    if (older_) return {};
    auto made = db_.prepare("INSERT INTO GPU_METRICS VALUES (?1, ?2, ?3, ?4)");
    if (!made) return tl::unexpected<Error>(made.error());
    metrics_ = std::move(*made);
    return {};
}

/// A row of a small table; values of any column that is a number are turned into one by its affinity.
Result<void> NsysFile::row(std::string_view table, std::initializer_list<std::string> values) {
    std::string marks;
    for (std::size_t i = 0; i < values.size(); ++i) marks += i == 0 ? "?" : ", ?";
    auto insert = db_.prepare(fmt::format("INSERT INTO {} VALUES ({})", table, marks));
    if (!insert) return tl::unexpected<Error>(insert.error());
    int at = 0;
    for (const std::string& value : values) insert->bind(++at, std::string_view(value));
    return insert->run();
}

Result<void> NsysFile::describe(const RunOptions& options) {
    const std::string vm = std::to_string(kGlobalVm);
    const std::string_view meta = older_ ? "EXPORT_META_DATA" : "META_DATA_EXPORT";
    const GpuFacts gpu = gpu_facts(options.deployment.gpu);
    const NodeInfo& node = topology_.nodes[static_cast<std::size_t>(node_)];
    const std::string_view engine = engine_name(options.deployment.engine);
    domain_ = engine.substr(0, engine.find('-'));
    Result<void> done;
    const auto add = [&](std::string_view table, std::initializer_list<std::string> values) {
        if (done) done = row(table, values);
    };
    add(meta, {"EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"});
    add(meta, {"EXPORT_PRODUCT_VERSION", older_ ? "2022.4.2.50" : "2026.4.1.152"});
    add(meta, {"EXPORT_SCHEMA_VERSION", older_ ? "3.0.0" : "3.28.1"});
    add(meta, {"EXPORT_PLATFORM", "linux-desktop"});
    if (!older_)
        for (const std::string_view type : {"Cuda", "NvtxEvents"}) add("META_DATA_CAPTURE", {"CAPTURE_EVENT_TYPE", std::string(type)});
    add(older_ ? meta : "META_DATA_CAPTURE", {std::string(kSimulatedKey), "1"});
    add("TARGET_INFO_SYSTEM_ENV", {vm, "Local (CLI)", "CpuArchitecture", "3", "x86_64"});
    add("TARGET_INFO_SYSTEM_ENV", {vm, "Local (CLI)", "Hostname", "7", node.host});
    if (older_)
        add("TARGET_INFO_SESSION_START_TIME", {std::to_string(session_), iso(session_), iso(session_)});
    else
        add("TARGET_INFO_SESSION_START_TIME", {std::to_string(session_), iso(session_), iso(session_), std::to_string(session_)});
    for (const DeviceInfo& device : topology_.devices) {
        if (device.node != node_) continue;
        const std::string ordinal = std::to_string(device.ordinal);
        add("TARGET_INFO_GPU",
            {vm, ordinal, std::string(gpu.title), fmt::format("0000:{:02x}:00.0", 0x18 + 0x11 * device.ordinal), std::to_string(gpu.memory),
             std::to_string(gpu.processors), std::string(gpu.chip), ordinal, std::to_string(gpu.major), std::to_string(gpu.minor)});
        const std::int64_t pid = topology_.process(device.process).pid;
        add("TARGET_INFO_CUDA_DEVICE", {ordinal, ordinal, std::to_string(pid), "", std::to_string(gpu.processors)});
        add("MPI_RANKS", {std::to_string(global_pid(device.process) | static_cast<std::int64_t>(static_cast<std::uint64_t>(pid) & kIdMask)),
                          std::to_string(device.rank)});
    }
    return done;
}

Result<void> NsysFile::describe_processes() {
    for (std::size_t i = 0; i < topology_.processes.size(); ++i) {
        const auto index = static_cast<ProcessIndex>(i);
        const ProcessInfo& process = topology_.processes[i];
        if (process.node != node_) continue;
        const std::int64_t id = global_pid(index);
        if (auto done =
                row("PROCESSES", {std::to_string(id), std::to_string(process.pid), process.title.empty() ? "python3" : process.title});
            !done)
            return done;
        ranges_.bind(1, std::int64_t{0}).bind_null(2).bind(3, kDomainCreate).bind(4, std::string_view(domain_));
        ranges_.bind(5, id | static_cast<std::int64_t>(static_cast<std::uint64_t>(process.pid) & kIdMask))
            .bind_null(6)
            .bind(7, kRangesDomain);
        if (auto done = ranges_.run(); !done) return done;
        ++range_rows_;
    }
    for (const ThreadInfo& thread : topology_.threads) {
        if (topology_.process(thread.process).node != node_) continue;
        const auto name = string(thread.name);
        if (!name) return tl::unexpected<Error>(name.error());
        const std::int64_t id = global_pid(thread.process) | static_cast<std::int64_t>(static_cast<std::uint64_t>(thread.tid) & kIdMask);
        if (auto done = row("ThreadNames", {std::to_string(*name), "20", std::to_string(id)}); !done) return done;
    }
    return {};
}

std::int64_t NsysFile::global_pid(ProcessIndex process) const {
    return static_cast<std::int64_t>(kMachine | (static_cast<std::uint64_t>(topology_.process(process).pid) & kIdMask) << 24);
}

std::int64_t NsysFile::global_tid(const Event& event) const {
    const std::int64_t tid = event.thread == ThreadIndex::none ? topology_.process(event.process).pid : topology_.thread(event.thread).tid;
    return global_pid(event.process) | static_cast<std::int64_t>(static_cast<std::uint64_t>(tid) & kIdMask);
}

Result<std::int64_t> NsysFile::string(std::string_view text) {
    strings_.bind(1, ++last_string_).bind(2, text);
    if (auto done = strings_.run(); !done) return tl::unexpected<Error>(done.error());
    return last_string_;
}

Result<std::int64_t> NsysFile::string(const Event& event, Use use) {
    const std::string_view text = event.text.empty() ? names_.text(event.name) : event.text;
    const auto form = [&]() -> std::string {
        if (use == Use::call) return versioned_call(text);
        return use == Use::short_name ? short_kernel_name(text) : std::string(text);
    };
    if (!event.text.empty()) return string(form());
    std::vector<std::int64_t>& ids = ids_[static_cast<std::size_t>(use)];
    const auto at = static_cast<std::size_t>(event.name);
    if (at >= ids.size()) ids.resize(at + 1);
    if (ids[at] == 0) {
        const auto made = string(form());
        if (!made) return made;
        ids[at] = *made;
    }
    return ids[at];
}

/// Texts that are interned are registered strings of a domain; those made for one range are pushed as they are (FORMATS §1.3).
Result<void> NsysFile::range(const Event& event) {
    ranges_.bind(1, clock_.at(event.start) - session_).bind(3, kPushPop).bind(5, global_tid(event));
    if (!event.cut) ranges_.bind(2, end_of(event));
    if (event.text.empty()) {
        const auto id = string(event, Use::plain);
        if (!id) return tl::unexpected<Error>(id.error());
        ranges_.bind(6, *id);
    } else {
        ranges_.bind(4, event.text);
    }
    ranges_.bind(7, event.kind == EventKind::range && event.text.empty() ? kRangesDomain : std::int64_t{0});
    auto done = ranges_.run();
    ++range_rows_;  // SQLite numbers the rows of a table that only grows from 1
    if (done && event.cut) open_.push_back(range_rows_);
    return done;
}

Result<void> NsysFile::call(const Event& event) {
    const auto id = string(event, Use::call);
    if (!id) return tl::unexpected<Error>(id.error());
    calls_.bind(1, clock_.at(event.start) - session_).bind(2, end_of(event)).bind(3, std::int64_t{event.kind == EventKind::driver_call});
    calls_.bind(4, global_tid(event)).bind(5, std::int64_t{event.correlation}).bind(6, *id);
    if (auto done = calls_.run(); !done) return done;
    const Waits waits = event.text.empty() ? names_.of(event.name).waits : name_facts(event.text).waits;
    return waits == Waits::nothing ? Result<void>() : wait(event, waits);
}

/// The stream a call acts on; where it does not say so, the first of its process.
std::optional<StreamIndex> NsysFile::stream_of(const Event& call) const {
    if (call.stream != StreamIndex::none) return call.stream;
    for (std::size_t i = 0; i < topology_.streams.size(); ++i)
        if (topology_.devices[static_cast<std::size_t>(topology_.streams[i].device)].process == call.process) return static_cast<StreamIndex>(i);
    return std::nullopt;
}

/// What CUPTI records of a wait lies inside the call: in real exports it begins 0.2 to 1.2 us after it and ends as long before it returns.
Result<void> NsysFile::wait(const Event& event, Waits waits) {
    constexpr std::int64_t kNone = 0xFFFFFFFF, kFirstEvent = 18;
    // Exports of 2022 number them otherwise than their ENUM_CUPTI_SYNC_TYPE says (seen in schemas 2.9 and 3.1).
    constexpr std::array<std::int64_t, 5> kTypes{0, 1, 2, 3, 4}, kOlderTypes{0, 2, 3, 3, 1};
    const std::optional<StreamIndex> stream = stream_of(event);
    if (!stream) return {};
    const bool on_stream = waits == Waits::stream || waits == Waits::stream_for_event, of_event = waits == Waits::event || waits == Waits::stream_for_event;
    const TimeNs before = std::min<TimeNs>(on_stream && !of_event ? 660 : 350, event.duration / 3);
    const TimeNs after = std::min<TimeNs>(on_stream && !of_event ? 710 : 370, event.duration / 3);
    waits_.bind(1, clock_.at(event.start) - session_ + before).bind(2, end_of(event) - after);
    waits_.bind(3, std::int64_t{topology_.device_of(*stream).ordinal});
    waits_.bind(4, on_stream ? std::int64_t{topology_.stream(*stream).number} : kNone);
    waits_.bind(5, std::int64_t{event.correlation}).bind(6, global_pid(event.process));
    waits_.bind(7, (older_ ? kOlderTypes : kTypes)[static_cast<std::size_t>(waits)]);
    // Events are used again and again: one for each thread and stream.
    waits_.bind(8, of_event ? kFirstEvent + (on_stream ? std::int64_t{topology_.stream(*stream).number} : static_cast<std::int64_t>(event.thread)) : kNone);
    return waits_.run();
}

Result<void> NsysFile::device(const Event& event) {
    sql::Statement& insert = event.kind == EventKind::kernel ? kernels_ : event.kind == EventKind::memory_copy ? copies_ : sets_;
    insert.bind(1, clock_.at(event.start) - session_).bind(2, end_of(event));
    insert.bind(3, std::int64_t{topology_.device_of(event.stream).ordinal}).bind(4, std::int64_t{topology_.stream(event.stream).number});
    insert.bind(5, std::int64_t{event.correlation}).bind(6, global_pid(event.process));
    const std::int64_t bytes = std::max<std::int64_t>(event.bytes, 0);
    int node_column = 8;
    if (event.kind == EventKind::kernel) {
        const auto whole = string(event, Use::plain);
        if (!whole) return tl::unexpected<Error>(whole.error());
        const auto part = string(event, Use::short_name);
        if (!part) return tl::unexpected<Error>(part.error());
        const NameFacts own = event.text.empty() ? NameFacts() : name_facts(event.text);
        const NameFacts& facts = event.text.empty() ? names_.of(event.name) : own;
        insert.bind(7, *whole).bind(8, *part).bind(9, std::int64_t{facts.registers}).bind(13, std::int64_t{facts.shared});
        insert.bind(10, std::int64_t{std::max(event.grid, 1u)}).bind(11, std::int64_t{std::max(event.block, 1u)});
        node_column = 12;
    } else if (event.kind == EventKind::memory_copy) {
        const Copy copy = copy_of(event.copy);
        insert.bind(7, bytes).bind(8, copy.kind).bind(9, copy.from).bind(10, copy.to);
        node_column = 11;
    } else {
        insert.bind(7, bytes);
    }
    if (event.graph_node != 0) insert.bind(node_column, std::int64_t{event.graph_node});
    return insert.run();
}

Result<bool> NsysFile::event(const Event& event) {
    if (event.kind == EventKind::python) return false;
    if (!event.cut) latest_ = std::max(latest_, end_of(event));
    Result<void> done;
    if (event.kind == EventKind::range || event.kind == EventKind::op)
        done = range(event);
    else if (event.kind == EventKind::runtime_call || event.kind == EventKind::driver_call)
        done = call(event);
    else if (event.stream == StreamIndex::none)
        return false;
    else
        done = device(event);
    if (!done) return passed_on(done.error());
    return true;
}

Result<bool> NsysFile::counter(const CounterEvent& counter) {
    // The older schema has no table for them, and the metrics of this one are those of GPUs: no table of either holds what a host says of
    // itself, such as its clock (FORMATS §1.3).
    if (older_ || counter.device < 0) return false;
    const std::int64_t type = kMetricSource | counter.device;
    const auto [at, added] = metric_ids_.try_emplace({counter.device, fmt::format("{} [{}]", counter.name, counter.unit)}, 0);
    if (added) {
        at->second = static_cast<std::int64_t>(metric_ids_.size());
        if (auto done =
                row("TARGET_INFO_GPU_METRICS", {std::to_string(type), "0", "GPU Metrics", std::to_string(at->second), at->first.second});
            !done)
            return passed_on(done.error());
    }
    metrics_.bind(1, clock_.at(counter.time) - session_).bind(2, type).bind(3, at->second).bind(4, counter.value);
    if (auto done = metrics_.run(); !done) return passed_on(done.error());
    return true;
}

Result<void> NsysFile::finish(TimeNs end) {
    // Ranges that end with the session are taken for cut ones, so it lasts a little longer than what is whole.
    const TimeNs duration = std::max(clock_.at(end) - session_, latest_ + 1);
    auto cut = db_.prepare("UPDATE NVTX_EVENTS SET \"end\" = ?1 WHERE rowid = ?2");
    if (!cut) return passed_on(cut.error());
    for (const std::int64_t id : open_) {
        if (auto done = cut->bind(1, duration).bind(2, id).run(); !done) return passed_on(done.error());
    }
    constexpr TimeNs kTraceStart = 1'000'000;  // of another base, as in real exports
    if (auto done = row("ANALYSIS_DETAILS", {std::to_string(kGlobalVm), std::to_string(duration), std::to_string(kTraceStart),
                                             std::to_string(kTraceStart + duration)});
        !done)
        return passed_on(done.error());
    if (auto done = db_.execute("COMMIT"); !done) return passed_on(done.error());
    for (sql::Statement* s : {&strings_, &ranges_, &calls_, &kernels_, &copies_, &sets_, &waits_, &metrics_}) *s = sql::Statement();
    *cut = sql::Statement();
    if (auto done = db_.close(); !done) return passed_on(done.error());
    return {};
}

}  // namespace faultline::simulator
