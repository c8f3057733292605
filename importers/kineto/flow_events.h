// Flow events: launches are checked against the rows they join and not stored, backward links become host links (FORMATS §2.3).
// One thread.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/import_ledger.h"
#include "core/source_builder.h"
#include "importers/kineto/categories.h"
#include "importers/kineto/kineto_event.h"
#include "importers/kineto/trace_rows.h"

namespace faultline::kineto {

class FlowEvents {
public:
    FlowEvents(SourceBuilder& source, TraceRows& rows, ImportLedger& ledger) : source_(source), rows_(rows), ledger_(ledger) {}

    /// A span was appended: flows of the same time that follow belong to it.
    void span_appended(TimeNs start, bool correlated) noexcept {
        last_start_ = start;
        last_correlated_ = correlated;
    }
    /// A device row or API call without a correlation of its own was appended.
    void needs_correlation() noexcept { needed_ = true; }

    /// An event of phase s, t or f, with a time.
    void take(const KinetoEvent& event, const Category& category);

    /// Gives rows without a correlation the id of the launch flow that starts or ends at them.
    void resolve();

private:
    struct Launch {
        std::string row;  ///< pid and tid keys
        TimeNs time;
        std::int64_t id;
    };
    struct End {
        ThreadId thread{};
        TimeNs time = 0;
        bool begins = false;
    };
    void take_launch(const KinetoEvent& event);
    void take_backward(const KinetoEvent& event);

    SourceBuilder& source_;
    TraceRows& rows_;
    ImportLedger& ledger_;
    TimeNs last_start_ = 0;
    bool last_correlated_ = false;
    bool needed_ = false;
    std::vector<Launch> launches_;               ///< those that do not follow their row in the file
    std::unordered_map<std::string, End> open_;  ///< backward flows with one end so far
};

}  // namespace faultline::kineto
