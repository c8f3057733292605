#include "core/stack_places.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

namespace faultline {

void place_stacks(const CaptureReader& capture, std::vector<StackSample>& samples) {
    std::set<ProcessId> with_spans;
    for (const Track& track : capture.tracks()) {
        if (track.process && track.kind == TrackKind::host) with_spans.insert(*track.process);
    }
    std::map<ProcessId, std::int64_t> pids;
    std::map<std::int64_t, std::vector<ProcessId>> traced;
    for (const Process& process : capture.processes()) {
        pids[process.id] = process.pid;
        if (process.pid > 0 && with_spans.contains(process.id)) traced[process.pid].push_back(process.id);
    }
    std::map<ThreadId, std::int64_t> tids;
    std::map<std::pair<ProcessId, std::int64_t>, ThreadId> threads;
    for (const Thread& thread : capture.threads()) {
        tids[thread.id] = thread.tid;
        threads.emplace(std::pair(thread.process, thread.tid), thread.id);
    }
    for (StackSample& sample : samples) {
        if (!sample.process || with_spans.contains(*sample.process)) continue;
        const auto found = traced.find(pids[*sample.process]);
        if (found == traced.end() || found->second.size() != 1) continue;
        sample.process = found->second.front();
        if (!sample.thread) continue;
        const auto thread = threads.find({*sample.process, tids[*sample.thread]});
        sample.thread = thread == threads.end() ? std::nullopt : std::optional(thread->second);
    }
}

}  // namespace faultline
