// What the processes of an engine write in normal service, in the exact words and layouts of ENGINES §5 and FORMATS §7: start-up, requests,
// periodic statistics, access lines, chatter. Values; one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ml/simulator/base/noise.h"
#include "ml/simulator/base/run_options.h"
#include "ml/simulator/base/topology.h"
#include "ml/simulator/device/device_model.h"
#include "ml/simulator/workload/scheduler.h"

namespace faultline::simulator {

/// A line that will be written at its time, with a text of its own (LogEntry borrows).
struct LogDraft {
    TimeNs time = 0;
    ProcessIndex process{};
    LogLevel level = LogLevel::info;
    LogLayout layout = LogLayout::engine;
    std::string file;
    int line = 0;
    std::string text;
    bool suspect = false;
};

/// What is known of a finished step when its lines are written.
struct StepForLog {
    const StepPlan& plan;
    const StepOutcome& outcome;
    const Scheduler& scheduler;
    TimeNs start = 0, end = 0;
    GraphMode graphs = GraphMode::none;
};

/// Requests that the statistics count apart from those that wait and run.
struct HeldSlots {
    int deferred = 0;      ///< waiting, and passed over (vLLM's "Deferred")
    int transferring = 0;  ///< slots of KV transfers (SGLang's #transfer-req)
    bool stalled = false;  ///< nothing runs although requests are live: the statistics are shown all the same, and tell of it
};

class LogVoice {
public:
    static std::unique_ptr<LogVoice> make(const RunOptions& options, const Topology& topology, const DeviceModel& device, const Noise& noise);
    virtual ~LogVoice() = default;

    [[nodiscard]] virtual std::vector<LogDraft> start_up(TimeNs from, TimeNs ready) = 0;  ///< `from` to `ready`; ready before the capture where start-up is not in it
    [[nodiscard]] virtual std::vector<LogDraft> arrived(const Request& request, TimeNs time) = 0;
    [[nodiscard]] virtual std::vector<LogDraft> departed(const Request& request, TimeNs time) = 0;  ///< access line, finish, abort
    [[nodiscard]] virtual std::vector<LogDraft> stepped(const StepForLog& step) = 0;      ///< iteration lines, prefill and decode batch lines, preemptions
    /// To be asked at least once a second of service: the 10-second line and what else has a period. Silent while idle, as engines are.
    [[nodiscard]] virtual std::vector<LogDraft> tick(InstanceIndex instance, const Scheduler& scheduler, TimeNs now) = 0;
    virtual void hold(InstanceIndex instance, const HeldSlots& held) = 0;  ///< for the lines from now on
    [[nodiscard]] virtual std::vector<LogDraft> shut_down(TimeNs time) = 0;
};

}  // namespace faultline::simulator
