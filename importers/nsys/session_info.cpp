#include "importers/nsys/session_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <initializer_list>
#include <map>
#include <set>

#include "core/simulated.h"
#include "importers/kineto/trace_header.h"
#include "importers/nsys/json_text.h"

namespace faultline::nsys {

namespace {

constexpr std::int64_t kMostRank = 0x7FFF'FFFF;
constexpr std::size_t kMostValueBytes = 2048;   // of one member of the source's metadata
constexpr TimeNs kMostClock = TimeNs{1} << 62;  // year 2116
constexpr TimeNs kClockErrorNs = 50'000;        // measured: 9 to 50 us in six of six probes

std::string clean(std::string_view text) {
    std::string out = repaired_text(text).value_or(std::string(text));
    if (out.size() > kMostValueBytes) {
        std::size_t length = kMostValueBytes;
        while (length > 0 && (static_cast<unsigned char>(out[length]) & 0xC0u) == 0x80u) --length;
        out.resize(length);
    }
    return out;
}

/// Seconds of "2025-07-30T01:09:29", as if it were UTC.
std::optional<std::int64_t> iso_seconds(std::string_view text) {
    std::array<int, 6> field{};
    constexpr std::array<std::size_t, 6> begins{0, 5, 8, 11, 14, 17};
    constexpr std::array<std::size_t, 6> lengths{4, 2, 2, 2, 2, 2};
    if (text.size() < 19) return std::nullopt;
    for (std::size_t i = 0; i < field.size(); ++i) {
        const char* const from = text.data() + begins[i];
        const auto [stop, error] = std::from_chars(from, from + lengths[i], field[i]);
        if (error != std::errc() || stop != from + lengths[i]) return std::nullopt;
    }
    const std::chrono::year_month_day day{std::chrono::year(field[0]), std::chrono::month(static_cast<unsigned>(field[1])),
                                          std::chrono::day(static_cast<unsigned>(field[2]))};
    if (!day.ok()) return std::nullopt;
    constexpr std::int64_t kDay = 86'400, kHour = 3'600, kMinute = 60;
    return std::chrono::sys_days(day).time_since_epoch().count() * kDay + field[3] * kHour + field[4] * kMinute + field[5];
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) noexcept {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

/// Counts that are 0 are said too ("Number of dropped events: 0").
bool mentions_loss(std::string text) {
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return has_any(text, {"dropped", "were lost", "was lost", "data loss", "overflow"}) &&
           !has_any(text, {": 0", ":\t0", ": \t0", "0 events were", "no events were", "no data"});
}

}  // namespace

void SessionInfo::read() {
    read_versions();
    read_clock();
    read_environment();
    read_adapters();
    read_device_map();
    read_diagnostics();
}

void SessionInfo::read_versions() {
    JsonObject exported, captured;
    for (const std::string_view table : {"META_DATA_EXPORT", "EXPORT_META_DATA"}) {
        TableScan row = s_.names_of(table, {"name", "value"});
        while (row.next()) {
            s_.ledger.add_metadata();
            const std::string name = clean(row.text(0));
            const std::string value = clean(row.text(1));
            if (name == "EXPORT_PRODUCT_NAME") product_ = value;
            if (name == "EXPORT_PRODUCT_VERSION") version_ = value;
            if (name == "EXPORT_SCHEMA_VERSION") schema_ = value;
            if (name == kSimulatedKey && value == "1") s_.source.health.push_back(simulated_finding());
            exported.add_text(name, value);
        }
    }
    TableScan row = s_.names_of("META_DATA_CAPTURE", {"name", "value"});
    std::map<std::string, std::string> members;  // names come several times: their values are joined
    while (row.next()) {
        s_.ledger.add_metadata();
        const std::string name = clean(row.text(0));
        const std::string value = clean(row.text(1));
        if (name == kSimulatedKey && value == "1") s_.source.health.push_back(simulated_finding());
        if (name.ends_with("CUDA_SKIP_SOME_API_CALLS") && value == "true") skipped_calls_ = true;
        std::string& known = members[name];
        if (known.size() < kMostValueBytes) known += (known.empty() ? "" : ", ") + value;
    }
    for (const auto& [name, value] : members) captured.add_text(name, value);
    if (!exported.empty()) export_json_ = exported.text();
    if (!captured.empty()) capture_json_ = captured.text();
}

void SessionInfo::read_clock() {
    s_.source.has_wall_clock = false;
    s_.source.clock_rule = "the export does not say when its session began";
    TableScan row = s_.names_of("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs", "utcTime", "localTime"});
    while (row.next()) {
        s_.ledger.add_metadata();
        if (row.is_null(0) || s_.source.has_wall_clock) continue;
        const std::int64_t began = row.integer(0);
        if (began <= 0 || began >= kMostClock) continue;
        s_.source.clock_base_ns = began;
        s_.source.has_wall_clock = true;
        s_.source.clock_uncertainty_ns = kClockErrorNs;
        s_.source.clock_rule = "start of the session in UTC as the export says";
        const auto utc = iso_seconds(row.text(1));
        const auto local = iso_seconds(row.text(2));
        constexpr std::int64_t kDay = 86'400;
        if (utc && local && std::abs(*local - *utc) < kDay) s_.source.utc_offset_seconds = *local - *utc;
    }
    TableScan details = s_.names_of("ANALYSIS_DETAILS", {"duration"});
    while (details.next()) {
        s_.ledger.add_metadata();
        if (const std::int64_t duration = details.integer_or_zero(0); duration > 0 && duration < (TimeNs{1} << 61))
            s_.duration = std::max(s_.duration.value_or(0), duration);
    }
}

void SessionInfo::read_environment() {
    JsonObject environment;
    TableScan row = s_.names_of("TARGET_INFO_SYSTEM_ENV", {"devStateName", "name", "value"});
    while (row.next()) {
        s_.ledger.add_metadata();
        const std::string name = clean(row.text(1));
        const std::string value = clean(row.text(2));
        if (name == "Hostname") s_.source.source.host = value;
        environment.add_text(name, value);
    }
    if (!environment.empty()) environment_json_ = environment.text();
}

void SessionInfo::read_adapters() {
    enum { id, name, ordinal, memory, bandwidth, processors, major, minor, uuid };
    TableScan row = s_.names_of(
        "TARGET_INFO_GPU", {"id", "name", "cuDevice", "totalMemory", "memoryBandwidth", "smCount", "computeMajor", "computeMinor", "uuid"});
    while (row.next()) {
        s_.ledger.add_metadata();
        Adapter adapter{row.integer_or_zero(id), clean(row.text(name)), row.integer(ordinal), {}};
        JsonObject properties;
        for (const auto& [key, column] :
             {std::pair{"totalGlobalMem", memory}, std::pair{"memoryBandwidth", bandwidth}, std::pair{"numSms", processors},
              std::pair{"computeMajor", major}, std::pair{"computeMinor", minor}})
            if (!row.is_null(column)) properties.add(key, fmt::format("{}", row.integer(column)));
        if (!row.is_null(uuid)) properties.add_text("uuid", clean(row.text(uuid)));
        if (!properties.empty()) adapter.properties = properties.text();
        adapters_.push_back(std::move(adapter));
    }
    if (!adapters_.empty()) return;
    TableScan old = s_.names_of("TARGET_INFO_CUDA_GPU", {"id", "name", "cudaDevice"});  // 2020
    while (old.next()) {
        s_.ledger.add_metadata();
        adapters_.push_back({old.integer_or_zero(0), clean(old.text(1)), old.integer(2), {}});
    }
}

void SessionInfo::read_device_map() {
    TableScan row = s_.names_of("TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid"});
    while (row.next()) {
        s_.ledger.add_metadata();
        if (!row.is_null(0)) s_.places.map_device(row.integer_or_zero(2), row.integer_or_zero(1), row.integer(0));
    }
}

void SessionInfo::read_diagnostics() {
    TableScan row = s_.names_of("DIAGNOSTIC_EVENT", {"severity", "text"});
    constexpr std::int64_t kWarning = 2;  // 1 information, 2 warning, 3 error
    std::string first_loss;
    std::uint64_t losses = 0;
    while (row.next()) {
        s_.ledger.add_metadata();
        std::string text = clean(row.text(1));
        std::replace(text.begin(), text.end(), '\n', ' ');  // a place of the ledger is one line
        if (row.integer_or_zero(0) >= kWarning) s_.ledger.note("nsys.diagnostic", "The profiler warned while it captured", text);
        if (mentions_loss(text) && losses++ == 0) first_loss = text;
    }
    if (losses == 0) return;
    const std::string more = losses == 1 ? std::string() : fmt::format(" (and {} messages more)", losses - 1);
    s_.source.health.push_back(
        {"capture.loss", Severity::warning,
         fmt::format("The profiler lost events while it captured, so that some are missing: \"{}\"{}. Trace less at a time.", first_loss,
                     more)});
}

void SessionInfo::read_ranks() {
    TableScan row = s_.names_of("MPI_RANKS", {"globalTid", "rank"});
    std::set<std::int64_t> ranks;
    while (row.next()) {
        s_.ledger.add_metadata();
        if (row.is_null(0) || row.is_null(1)) continue;
        const std::optional<ProcessId> process = s_.places.process(row.integer(0));
        const std::int64_t rank = row.integer(1);
        if (!process || rank < 0 || rank > kMostRank) {
            s_.ledger.note("nsys.rank", "A rank of MPI is left out: its number or its process is none", row.place());
            continue;
        }
        s_.source.process_row(*process).rank = rank;
        ranks.insert(rank);
    }
    Source& source = s_.source.source;
    if (ranks.size() == 1) {
        source.rank = *ranks.begin();
        source.rank_rule = "MPI rank in the export";
    } else if (ranks.empty()) {
        const std::size_t slash = source.path.rfind('/');
        if (const auto named = kineto::rank_in_name(slash == std::string::npos ? source.path : source.path.substr(slash + 1))) {
            source.rank = named->rank;
            source.rank_rule = fmt::format("the file's name ({})", named->where);
        }
    }
}

void SessionInfo::name_processes() {
    TableScan row = s_.names_of("PROCESSES", {"globalPid", "name"});
    while (row.next()) {
        s_.ledger.add_metadata();  // every process of the machine is listed
        const auto known = s_.places.processes().find(process_key(row.integer_or_zero(0)));
        if (known != s_.places.processes().end() && !row.is_null(0)) s_.source.process_row(known->second).name = clean(row.text(1));
    }
}

void SessionInfo::name_threads(const NvtxReader& nvtx) {
    TableScan row = s_.names_of("ThreadNames", {"nameId", "globalTid"});
    while (row.next()) {
        s_.ledger.add_metadata();
        if (row.is_null(1)) continue;
        const auto known = s_.places.threads().find(row.integer(1));
        if (known != s_.places.threads().end()) s_.source.thread_row(known->second.thread).name = s_.strings.text(row.integer_or_zero(0));
    }
    for (const auto& [thread, name] : nvtx.thread_names())
        if (const auto known = s_.places.threads().find(thread); known != s_.places.threads().end())
            s_.source.thread_row(known->second.thread).name = s_.source.names().text(name);
}

/// A device ordinal is that of a process. Without a map it is only certain which adapter it is where they are all alike.
void SessionInfo::name_devices() {
    const bool alike = !adapters_.empty() &&
                       std::all_of(adapters_.begin(), adapters_.end(), [&](const Adapter& a) { return a.name == adapters_.front().name; });
    for (const Device& device : s_.source.devices()) {
        const std::optional<std::int64_t> mapped = s_.places.adapter(device.id);
        const auto found = std::find_if(adapters_.begin(), adapters_.end(), [&](const Adapter& a) {
            return mapped ? a.id == *mapped : a.cuda_ordinal != kNull && a.cuda_ordinal == device.ordinal;
        });
        Device& row = s_.source.device_row(device.id);
        if (found != adapters_.end()) {
            row.name = found->name;
            row.properties = found->properties;
        } else if (alike) {
            row.name = adapters_.front().name;
            row.properties = adapters_.size() == 1 ? adapters_.front().properties : std::string();
        }
    }
}

void SessionInfo::finish(const NvtxReader& nvtx) {
    read_ranks();
    name_processes();
    name_threads(nvtx);
    name_devices();
    Source& source = s_.source.source;
    source.producer = product_.empty() ? "NVIDIA Nsight Systems" : product_;
    if (!version_.empty()) source.producer += " " + version_;
    JsonObject all;
    if (!schema_.empty()) all.add_text("schema", schema_);
    if (!export_json_.empty()) all.add("export", export_json_);
    if (!capture_json_.empty()) all.add("capture", capture_json_);
    if (!environment_json_.empty()) all.add("environment", environment_json_);
    if (const std::string categories = nvtx.categories(); !categories.empty()) all.add("nvtx_categories", categories);
    if (!all.empty()) source.metadata = all.text();
}

}  // namespace faultline::nsys
