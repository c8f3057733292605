// From the clients to the scheduler and back: requests are sent, pass the API server, arrive; tokens go back through it. With prefill and
// decode instances the KV cache travels between them. One thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "ml/simulator/faults/fault.h"
#include "ml/simulator/host/host_model.h"
#include "ml/simulator/serving/log_queue.h"
#include "ml/simulator/serving/step_book.h"
#include "ml/simulator/workload/arrivals.h"

namespace faultline::simulator {

/// A request that the fault delayed or took part in.
struct TouchedRequest {
    FaultClass label = FaultClass::normal;
    RequestRecord record;
};

/// How long requests wait in one place in the ordinary course of things.
class UsualWait {
public:
    void add(TimeNs wait);
    [[nodiscard]] TimeNs p99() const;  ///< kNull: too few waited

private:
    std::deque<TimeNs> waits_;
};

class FrontDoor {
public:
    FrontDoor(const RunOptions& options, const Noise& noise, const Places& places, TimeNs start);

    struct Scene {
        HostModel& host;
        Machine& machine;
        LogVoice& voice;
        LogQueue& logs;
        Fault* fault;  ///< null: nothing is injected
        FaultReach& reach;
        std::vector<Scheduler>& schedulers;
        StepBook& book;
        std::map<RequestNumber, TouchedRequest>& touched;
    };

    /// Sends what clients send up to `now`, and puts into the schedulers what has arrived by then.
    void bring(TimeNs now, Scene& scene, const std::function<void(const Request&)>& done);
    /// When the next request or KV cache can arrive anywhere; absent: nothing is on its way and no client will send.
    [[nodiscard]] std::optional<TimeNs> next(Scene& scene);
    /// Tokens of a step went out at `time`; `departed` have left the instance.
    void deliver(const StepPlan& plan, const StepOutcome& outcome, std::vector<Request> departed, TimeNs time, Scene& scene,
                 const std::function<void(const Request&)>& done);
    void stop() { arrivals_.stop(); }
    [[nodiscard]] std::uint64_t sent() const { return sent_; }
    [[nodiscard]] int transferring(InstanceIndex to) const;  ///< KV caches on their way to an instance
    [[nodiscard]] std::vector<const Request*> on_their_way() const;  ///< to a scheduler
    [[nodiscard]] std::uint32_t oldest_signal() const;  ///< that is still asked for; kNoSignal: none

private:
    struct OnItsWay {
        std::uint32_t signal = 0;
        Request request;
    };
    struct Transfer {
        TimeNs arrives = 0;
        Request request;
        TransferEnd end = TransferEnd::arrives;
    };

    void send(TimeNs until, Scene& scene);
    void transfer(Request request, TimeNs time, Scene& scene);
    /// The program of a request outside of any step; what the fault marks in it is told to be what holds the request.
    void run_outside(ThreadProgram program, const Request& request, Waiting where, Scene& scene);
    void arrive(const Request& request, TimeNs time, Scene& scene);
    void refuse(Request request, TimeNs time, Scene& scene, const std::function<void(const Request&)>& done);

    RunOptions options_;
    Noise noise_;
    std::vector<InstanceIndex> homes_, prefillers_;  ///< that decode, and that compute prompts for them; prefillers may be none
    ArrivalSource arrivals_;
    std::vector<OnItsWay> coming_;
    std::vector<Transfer> transfers_;
    std::vector<RequestNumber> gone_;  ///< whose client went away, to be told to the scheduler
    std::vector<std::pair<RequestNumber, InstanceIndex>> leaving_;
    std::vector<SuspectOperator> holding_;  ///< of the API server, the last few: who queues behind them waits too
    UsualWait front_wait_, transfer_wait_;
    std::uint64_t sent_ = 0;
};

}  // namespace faultline::simulator
