#include "importers/database_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace faultline {

namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr std::size_t kHeaderBytes = 100;

template <std::size_t N>
bool any_of(const std::vector<std::string>& tables, const std::array<std::string_view, N>& names) {
    return std::any_of(tables.begin(), tables.end(),
                       [&](const std::string& table) { return std::find(names.begin(), names.end(), table) != names.end(); });
}

bool any_begins(const std::vector<std::string>& tables, std::string_view with) {
    return std::any_of(tables.begin(), tables.end(), [&](const std::string& table) { return table.starts_with(with); });
}

constexpr std::array<std::string_view, 13> kNsight{
    "META_DATA_EXPORT", "EXPORT_META_DATA", "META_DATA_CAPTURE",      "NVTX_EVENTS",      "OSRT_API",
    "ProcessStreams",   "ThreadNames",      "TARGET_INFO_SYSTEM_ENV", "COMPOSITE_EVENTS", "TARGET_INFO_SESSION_START_TIME",
    "TARGET_INFO_GPU",  "SCHED_EVENTS",     "PROFILER_OVERHEAD"};
constexpr std::array<std::string_view, 4> kDlprof{"read_only_cuda_calls", "read_only_kernels", "expert_systems_feedback",
                                                  "op_type_metrics"};
constexpr std::array<std::string_view, 7> kAscend{"CANN_API",          "PYTORCH_API",   "ACC_PMU",       "NPU_INFO",
                                                  "COMPUTE_TASK_INFO", "TASK_PMU_INFO", "NPU_MODULE_MEM"};

std::uint64_t big_endian(std::string_view head, std::size_t at, std::size_t bytes) noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<unsigned char>(head[at + i]);
    return value;
}

/// sqlite.org/fileformat.html §1.3: 1 stands for 65536.
std::uint64_t page_bytes(std::string_view head) noexcept {
    const std::uint64_t size = big_endian(head, 16, 2);
    return size == 1 ? 65536 : size;
}

}  // namespace

std::uint64_t database_bytes(std::string_view head) noexcept { return big_endian(head, 28, 4) * page_bytes(head); }

bool holds_no_rows(std::string_view head) noexcept {
    const std::uint64_t page = page_bytes(head);
    constexpr std::uint64_t kLeastPage = 512;
    if (page < kLeastPage || head.size() < database_bytes(head)) return false;
    // Every page after the schema's is a leaf without cells (§1.6).
    constexpr unsigned char kIndexLeaf = 0x0A, kTableLeaf = 0x0D;
    for (std::uint64_t at = page; at + page <= head.size(); at += page) {
        const auto type = static_cast<unsigned char>(head[at]);
        if ((type != kIndexLeaf && type != kTableLeaf) || big_endian(head, at + 3, 2) != 0) return false;
    }
    return true;
}

bool is_database(std::string_view head) noexcept { return head.size() >= kHeaderBytes && head.starts_with(kMagic); }

std::vector<std::string> tables_in_head(std::string_view head) {
    constexpr std::string_view kCreate = "CREATE TABLE ";
    constexpr std::size_t kLongestName = 200;
    std::vector<std::string> tables;
    for (std::size_t at = head.find(kCreate); at != std::string_view::npos; at = head.find(kCreate, at + 1)) {
        std::string_view rest = head.substr(at + kCreate.size(), kLongestName);
        if (!rest.empty() && (rest.front() == '"' || rest.front() == '`' || rest.front() == '\'' || rest.front() == '['))
            rest.remove_prefix(1);
        const std::size_t end = std::min(rest.find_first_of(" \t\r\n(\"`'];"), rest.size());
        if (end > 0) tables.emplace_back(rest.substr(0, end));
    }
    return tables;
}

DatabaseKind database_kind(const std::vector<std::string>& tables) noexcept {
    if (tables.empty()) return DatabaseKind::empty;
    if (any_of(tables, kAscend)) return DatabaseKind::ascend;
    if (any_of(tables, kDlprof)) return DatabaseKind::dlprof;
    if (any_begins(tables, "rocpd_")) return DatabaseKind::rocpd;
    if (any_begins(tables, "CUPTI_ACTIVITY_KIND_") || any_of(tables, kNsight)) return DatabaseKind::nsight;
    return DatabaseKind::other;
}

Error refused_database(DatabaseKind kind, const std::vector<std::string>& tables, std::string_view path) {
    const auto refuse = [](std::string sentence, std::string hint) {
        return Error{ErrorCode::unusable_input, std::move(sentence), std::move(hint)};
    };
    switch (kind) {
        case DatabaseKind::dlprof:
            return refuse(fmt::format("{} is a database of NVIDIA DLProf, which holds sums and no trace", path),
                          "Give the Nsight Systems database that DLProf was run on");
        case DatabaseKind::rocpd:
            return refuse(fmt::format("{} is a trace database of AMD ROCm (rocpd), which this version does not read", path),
                          "Give a PyTorch profiler trace of the run (.json or .json.gz)");
        case DatabaseKind::ascend:
            return refuse(fmt::format("{} is a database of the Ascend profiler, which this version does not read", path),
                          "Give the trace_view.json of the same run");
        case DatabaseKind::empty:
            return refuse(
                fmt::format("{} is an empty database: {}", path, tables.empty() ? "it has no tables" : "none of its tables has a row"),
                "Export the report again: nsys export --type sqlite");
        default: break;
    }
    std::string some;
    constexpr std::size_t kNamed = 3;
    for (std::size_t i = 0; i < std::min(tables.size(), kNamed); ++i) some += fmt::format("{}{}", i == 0 ? "" : ", ", tables[i]);
    return refuse(fmt::format("{} is a database of another program (its tables: {}{})", path, some, tables.size() > kNamed ? ", …" : ""),
                  "Give an Nsight Systems database (nsys export --type sqlite)");
}

}  // namespace faultline
