// What stands before the engine's own line: container runtimes, journals, launchers, quotes, and the engine's process prefix (FORMATS
// §7.1).
//
// Some wrappers are taken off only where a log line follows ("0: ", "name | ", "> "), and then on every later line of the same log:
// a LineUnwrapper remembers what it met. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "importers/service_log/stamp.h"

namespace faultline::service_log {

struct Unwrapped {
    std::string_view rest;     ///< the line itself; lies in the given line or in the unwrapper, until the next call
    std::string key;           ///< the same for all lines of one writer
    Stamp stamp;               ///< of the wrapper; one that names its zone wins over one that does not
    std::string_view process;  ///< name of the process, from the engine's prefix or the unit
    std::string_view host;
    std::string_view level;   ///< of the wrapper itself (kernel messages of a journal, logs whose lines are JSON)
    std::string_view logger;  ///< of a log whose lines are JSON
    std::optional<std::int64_t> pid, rank;
    bool kernel = false;   ///< the journal says that the kernel wrote it
    bool partial = false;  ///< the runtime cut the line: the next of the same key goes on
};

class LineUnwrapper {
public:
    LineUnwrapper();
    ~LineUnwrapper();
    LineUnwrapper(const LineUnwrapper&) = delete;
    LineUnwrapper& operator=(const LineUnwrapper&) = delete;

    [[nodiscard]] Unwrapped unwrap(std::string_view line);

private:
    struct Json;
    bool take_json(Unwrapped& out);
    bool take_docker(Unwrapped& out);
    bool take_journal_record(Unwrapped& out);
    bool take_structured(Unwrapped& out);
    void clean_message();
    bool take_container(Unwrapped& out);
    bool take_journal(Unwrapped& out);
    bool take_launcher(Unwrapped& out);
    bool take_prefix(Unwrapped& out);
    static void take_stamp(Unwrapped& out, const Stamp& stamp);

    std::unique_ptr<Json> json_;
    std::string message_;  ///< decoded text of a JSON line
    std::string host_, unit_, logger_;
    bool quotes_ = false, names_ = false, tasks_ = false, stamps_ = false, journal_ = false;
};

/// True where a header that nothing but a log has, or a process prefix, begins the text.
[[nodiscard]] bool begins_log_line(std::string_view text);

}  // namespace faultline::service_log
