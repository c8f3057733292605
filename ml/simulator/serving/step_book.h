// Keeps the records of the steps that are under way: what each touched, waited for and lasted; and what is usual for steps like it. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/layer_rules.h"
#include "ml/simulator/base/names.h"
#include "ml/simulator/base/passing_sink.h"
#include "ml/simulator/base/topology.h"
#include "ml/simulator/serving/step_record.h"

namespace faultline::simulator {

class StepBook final : public PassingSink {
public:
    /// Passes everything on to `next`; `file_of` says which file of the run holds a process.
    StepBook(const Topology& topology, const Names& names, Sink& next, std::function<std::string(ProcessIndex)> file_of);

    void event(const Event& event) override;
    void log(const LogEntry& entry) override;

    /// Opens the record of a step; events that come for it fill it in.
    StepRecord& open(const StepPlan& plan, std::string text, TimeNs start);
    [[nodiscard]] StepRecord* find(StepNumber step);
    /// Hands the record out and forgets it; a normal one (as the caller judges) becomes part of what is usual.
    [[nodiscard]] StepRecord close(StepNumber step);
    void learn(const StepRecord& record);
    /// Marked operators outside of any step (API server, transfers) that ended since the last call.
    [[nodiscard]] std::vector<SuspectOperator> take_outside() { return std::exchange(outside_, {}); }

private:
    struct Usual {
        std::int64_t tokens = 0, kv = 0;
        int context = 0, generation = 0;
        TimeNs duration = 0;
    };
    struct Named {
        std::string name, layer;
    };

    void mark(StepRecord& record, const Event& event);
    [[nodiscard]] SuspectOperator operator_of(const Event& event, int rank);
    [[nodiscard]] const Named& named(const Event& event);
    [[nodiscard]] TimeNs usual(const StepRecord& record) const;
    [[nodiscard]] std::deque<Usual>& history(const StepPlan& plan);

    const Topology& topology_;
    const Names& names_;
    std::function<std::string(ProcessIndex)> file_of_;
    LayerRules layers_ = LayerRules::built_in();
    std::map<StepNumber, StepRecord> open_;
    std::map<std::pair<int, int>, std::deque<Usual>> usual_;  ///< by instance and kind
    std::unordered_map<std::uint64_t, Named> named_;          ///< by kind and Name
    Named unnamed_;
    std::vector<SuspectOperator> outside_;
    std::vector<std::string> untold_;  ///< lines that came while no step was open: the next one has them
};

}  // namespace faultline::simulator
