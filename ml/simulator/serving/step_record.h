// What the truth knows of one step: what was scheduled, when it ran, what a rehearsal without the fault says it would have taken, and which
// operations were touched. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ml/simulator/base/event.h"
#include "ml/simulator/workload/step_plan.h"

namespace faultline::simulator {

/// An event that was marked, with all that finds it again in an imported capture (CONTRACT.md, truth.json).
struct SuspectOperator {
    ProcessIndex process{};
    std::string process_name;
    std::int64_t pid = 0;
    std::string file;       ///< of the run's folder
    int rank = -1;
    EventKind kind{};
    Role role = Role::none;
    std::int16_t model_layer = -1;
    std::string layer;      ///< step, frontend, backend, host, kernel or comm, by the rules that the importer uses
    std::string name;
    std::uint32_t correlation = 0, range = 0;
    TimeNs start = 0, duration = 0;
    int group = 0;          ///< operations of one cause in one step and rank: the first few of a role stand for all
};

struct StepRecord {
    StepPlan plan;
    std::string text;             ///< its name in the capture
    std::vector<std::string> requests;
    std::vector<int> ranks;
    TimeNs start = 0, end = 0;    ///< first host range to last device work
    TimeNs stuck = 0;             ///< it had not ended after so long, when the capture did; 0: it ended
    TimeNs rehearsed = kNull;     ///< how long it would have been without the fault; kNull where nothing touched it
    TimeNs usual = kNull;         ///< P99 of normal steps of its kind and size so far; kNull where there were too few
    bool touched = false;         ///< a fault changed something in it
    bool structural = false;      ///< in a way that counts even where no time is lost
    std::vector<SuspectOperator> suspects;
    std::vector<std::string> suspect_logs;  ///< lines written because of the fault, up to the end of the step
    TimeNs longest_wait = 0;      ///< in a collective, over the ranks
    int waiting_rank = -1;
    std::string waiting_in;       ///< that collective's name
};

}  // namespace faultline::simulator
