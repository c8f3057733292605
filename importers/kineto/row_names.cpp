#include "importers/kineto/row_names.h"

#include "importers/kineto/number_text.h"

namespace faultline::kineto {

namespace {

/// Kineto ends the names of streams with a blank.
std::string trimmed(std::string text) {
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
}

}  // namespace

bool RowNames::take(const KinetoEvent& event, const std::vector<JsonMember>& members) {
    const bool of_process = event.name.starts_with("process_");
    const bool of_thread = event.name.starts_with("thread_");
    if (!of_process && !of_thread) return false;
    const std::string_view what = event.name.substr(event.name.find('_') + 1);
    Said& said = of_process ? processes_[row_key(event.pid)] : threads_[row_key(event.pid) + '\n' + row_key(event.tid)];
    for (const JsonMember& member : members) {
        if (what == "name" && member.key == "name")
            said.name = trimmed(member.text);
        else if (what == "labels" && member.key == "labels")
            said.labels = member.text;
        else if (what == "sort_index" && member.key == "sort_index")
            said.sort_index = whole_number(member.text);
    }
    return true;
}

void RowNames::apply(SourceBuilder& source, TraceRows& rows) const {
    for (const HostRow& row : rows.hosts()) {
        if (const auto said = processes_.find(row.pid_key); said != processes_.end()) {
            Process& process = source.process_row(row.process);
            process.name = said->second.name;
            process.labels = said->second.labels;
            process.sort_index = said->second.sort_index.value_or(process.sort_index);
        }
        if (const auto said = threads_.find(row.pid_key + '\n' + row.tid_key); said != threads_.end()) {
            Thread& thread = source.thread_row(row.thread);
            thread.name = said->second.name;
            thread.sort_index = said->second.sort_index.value_or(thread.sort_index);
        }
    }
    for (const DeviceRow& row : rows.devices()) {
        const auto said = threads_.find(row.pid_key + '\n' + row.tid_key);
        if (said == threads_.end()) continue;
        if (row.work != nullptr) row.work->track.name = said->second.name;
        if (row.ranges != nullptr) row.ranges->track.name = said->second.name;
    }
}

}  // namespace faultline::kineto
