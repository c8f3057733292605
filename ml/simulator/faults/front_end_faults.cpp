// The event loop of the API server is busy: every request is slow to tokenise (E9), or one blocks all others (E13). Transfers of KV caches
// that are slow (D8) or fail (D9).
#include "ml/simulator/faults/mechanism.h"

#include <fmt/format.h>

namespace faultline::simulator {
namespace {

class FrontEnd final : public Mechanism {
public:
    FrontEnd(FaultSettings settings, const Noise& noise) : Mechanism(std::move(settings), noise, {.scope = Scope::front_end, .gap = true}) {}

    [[nodiscard]] double tokenize_factor(const Request& request, TimeNs now) const override {
        if (!active(now)) return 1;
        // One request in a few is the heavy one of E13.
        return id() == "E9" || request.number % 5 == 0 ? size() : 1;
    }
    bool change_program(ThreadProgram& program, const StepPlan&, FaultReach& reach) override {
        if (program.part != ProgramPart::api || !active(program.not_before)) return false;
        ProgramEdit edit(program.program, reach.names);
        const auto range = edit.range_of({Role::tokenize});
        if (!range) return false;
        edit.mark_range(*range);
        return true;
    }
};

class SlowTransfer final : public Mechanism {
public:
    SlowTransfer(FaultSettings settings, const Noise& noise) : Mechanism(std::move(settings), noise, {.scope = Scope::front_end, .gap = true}) {}

    [[nodiscard]] TimeNs transfer_time(const Request& request, TimeNs usual, TimeNs now) const override {
        if (!active(now)) return usual;
        return usual + jittered(seconds(), request.number);
    }
    void before_schedule(SchedulerKnobs&, InstanceIndex, TimeNs now, FaultReach& reach) override {
        if (!active(now) || now < quiet_ || reach.host.places().instances.size() < 2) return;
        quiet_ = now + 5'000'000'000;
        const ProcessIndex decoder = process(reach, reach.host.places().instances.back().core);
        if (id() == "D9") {
            write(reach, now + seconds(), decoder, LogLevel::error, sglang() ? "conn.py" : "nixl_connector.py", 812,
                  sglang() ? "Prefill bootstrap failed for request rank=0 req.rid='unknown' with exception KVTransferError: Timeout waiting for P side ready"
                           : "pulling kv_caches for remote prefill failed: Timeout waiting for P side ready");
        }
    }

private:
    TimeNs quiet_ = 0;
};

}  // namespace

std::unique_ptr<Fault> make_front_end_faults(const FaultSettings& settings, const Noise& noise) {
    const std::string_view id = settings.info->id;
    if (id == "E9" || id == "E13") return std::make_unique<FrontEnd>(settings, noise);
    return nullptr;
}

std::unique_ptr<Fault> make_transfer_faults(const FaultSettings& settings, const Noise& noise) {
    const std::string_view id = settings.info->id;
    if (id == "D8" || id == "D9") return std::make_unique<SlowTransfer>(settings, noise);
    return nullptr;
}

}  // namespace faultline::simulator
