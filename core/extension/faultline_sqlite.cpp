// The loadable extension: gives a plain SQLite tool the table `span` and the views of a capture.
//
//     sqlite3 NAME.faultline
//     .load BUILD/core/faultline_sqlite
//     SELECT name, count(*) FROM kernels GROUP BY name;
//
// The spans are read through a connection of our own on the same file, and given to the tool through the tool's own SQLite.
#include <memory>
#include <string>

#include "core/capture_reader.h"
#include "core/span_table_module.h"

SQLITE_EXTENSION_INIT1

namespace faultline {

namespace {

int refuse(char** words, const std::string& sentence) {
    *words = sqlite3_mprintf("%s", sentence.c_str());
    return SQLITE_ERROR;
}

int load(sqlite3* connection, char** words) {
    const char* const path = sqlite3_db_filename(connection, "main");
    if (!path || *path == '\0') return refuse(words, "faultline: no capture is open. Start as: sqlite3 NAME.faultline");
    Result<std::unique_ptr<CaptureReader>> reader = CaptureReader::open(path);
    if (!reader)
        return refuse(words, "faultline: " + reader.error().sentence + (reader.error().hint.empty() ? "" : ". " + reader.error().hint));
    const std::shared_ptr<const CaptureReader> capture(std::move(*reader));
    if (const std::string failure = loaded::create_span_table(connection, capture); !failure.empty())
        return refuse(words, "faultline: " + failure);
    return SQLITE_OK;
}

}  // namespace

}  // namespace faultline

extern "C" __attribute__((visibility("default"))) int sqlite3_faultlinesqlite_init(sqlite3* connection, char** words,
                                                                                   const sqlite3_api_routines* routines) {
    SQLITE_EXTENSION_INIT2(routines)
    return faultline::load(connection, words);
}
