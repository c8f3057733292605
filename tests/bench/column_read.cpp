#include "tests/bench/column_read.h"

#include <sqlite3.h>

#include <array>
#include <memory>
#include <vector>

namespace faultline::bench {

namespace {

constexpr std::array<const char*, 6> kQueries{
    "SELECT start, \"end\", globalTid, correlationId, nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME",
    "SELECT start, \"end\", deviceId, contextId, streamId, correlationId, demangledName, shortName, graphNodeId FROM "
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "SELECT start, \"end\", deviceId, streamId, correlationId, bytes, copyKind FROM CUPTI_ACTIVITY_KIND_MEMCPY",
    "SELECT start, \"end\", deviceId, streamId, correlationId, syncType FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    "SELECT start, \"end\", eventType, globalTid, textId, domainId, text FROM NVTX_EVENTS",
    "SELECT id, value FROM StringIds"};

}  // namespace

Result<std::uint64_t> column_read(const std::string& path) {
    // Opened as programs open a database when they ask for nothing special.
    sqlite3* handle = nullptr;
    const int opened = sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READONLY, nullptr);
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> db(handle, sqlite3_close);
    if (opened != SQLITE_OK) return fail(ErrorCode::unusable_input, path + " cannot be opened as a database");
    sqlite3_exec(handle, "PRAGMA mmap_size=8000000000", nullptr, nullptr, nullptr);
    std::vector<std::vector<std::int64_t>> columns;
    std::uint64_t rows = 0;
    for (const char* const query : kQueries) {
        sqlite3_stmt* statement = nullptr;
        if (sqlite3_prepare_v2(handle, query, -1, &statement, nullptr) != SQLITE_OK) continue;  // a table that this capture does not have
        const int count = sqlite3_column_count(statement);
        columns.assign(static_cast<std::size_t>(count), {});
        while (sqlite3_step(statement) == SQLITE_ROW) {
            for (int i = 0; i < count; ++i) columns[static_cast<std::size_t>(i)].push_back(sqlite3_column_int64(statement, i));
            ++rows;
        }
        sqlite3_finalize(statement);
    }
    return rows;
}

}  // namespace faultline::bench
