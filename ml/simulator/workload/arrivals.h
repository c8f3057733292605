// The requests of a run, in the order in which clients send them (Poisson, bursts, closed loop). Everything about request n follows from the
// seed and n alone; only its time depends on the load before it, in a closed loop on when a client is free. One thread.
#pragma once

#include <optional>
#include <vector>

#include "ml/simulator/base/noise.h"
#include "ml/simulator/base/run_options.h"
#include "ml/simulator/workload/request.h"

namespace faultline::simulator {

class ArrivalSource {
public:
    ArrivalSource(const RunOptions& options, const Noise& noise, TimeNs start);

    /// When the next request is sent; absent while every client of a closed loop waits (and for ever after `stop`).
    [[nodiscard]] std::optional<TimeNs> next_time() const;
    [[nodiscard]] Request take();  ///< pre: next_time()
    /// A closed loop's client has its answer (or gave up) and thinks for a while.
    void answered(const Request& request, TimeNs time);
    void stop() { stopped_ = true; }

private:
    RunOptions options_;
    Noise noise_;
    TimeNs start_ = 0, next_ = 0;
    RequestNumber number_ = 0;
    bool stopped_ = false;
    std::vector<TimeNs> free_clients_;  ///< heap of the times at which clients of a closed loop send next
};

}  // namespace faultline::simulator
