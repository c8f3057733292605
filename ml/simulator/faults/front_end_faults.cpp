// The event loop of the API server is busy: every request is slow to tokenise (E9), or one blocks all others (E13). Transfers of KV caches
// that are slow (D8) or fail (D9).
#include <algorithm>

#include <fmt/format.h>

#include "ml/simulator/faults/mechanism.h"

namespace faultline::simulator {
namespace {

class FrontEnd final : public Mechanism {
public:
    FrontEnd(FaultSettings settings, const Noise& noise) : Mechanism(std::move(settings), noise, {.scope = Scope::front_end, .gap = true}) {}

    [[nodiscard]] double tokenize_factor(const Request& request, TimeNs now) override {
        // One request in a few is the heavy one of E13.
        heavy_ = active(now) && (id() == "E9" || request.number % 5 == 0);
        return heavy_ ? size() : 1;
    }
    /// Of the request that tokenize_factor() was asked about last.
    bool change_program(ThreadProgram& program, const StepPlan&, FaultReach& reach) override {
        if (program.part != ProgramPart::api || !heavy_ || !active(program.not_before)) return false;
        ProgramEdit edit(program.program, reach.names);
        const auto range = edit.range_of({Role::tokenize});
        if (!range) return false;
        edit.mark_range(*range);
        return true;
    }

private:
    bool heavy_ = false;
};

/// A KV cache that comes late, or not at all. Of those that do not come, some are computed again where they are decoded, and some requests fail: both happen,
/// by the policy of the engine and by what the decode instance has left for it (FAULTS D9).
class Transfers final : public Mechanism {
public:
    Transfers(FaultSettings settings, const Noise& noise)
        : Mechanism(std::move(settings), noise, {.scope = Scope::all, .structural = settings.info->id == "D9"}), fails_until_(settings_.end) {
        // What was on its way when the fault ends fails after it, and is computed again after that.
        if (id() == "D9") settings_.end += seconds() + 5'000'000'000;
    }

    [[nodiscard]] TimeNs transfer_time(const Request& request, TimeNs usual, TimeNs now) const override {
        if (!active(now) || now >= fails_until_) return usual;
        // A timeout is the same for all.
        return usual + (id() == "D9" ? seconds() : jittered(seconds(), request.number));
    }
    [[nodiscard]] TransferEnd transfer_end(const Request& request, TimeNs from, TimeNs to, FaultReach& reach) override {
        if (id() != "D9") return TransferEnd::arrives;
        const std::vector<InstancePlaces>& instances = reach.host.places().instances;
        // Every rank says so.
        if (sglang()) {
            const auto room = noise_.bits(Draw::fault_choice, salt_, request.number, 3) >> 1;
            const std::vector<ThreadIndex>& ranks = instances[static_cast<std::size_t>(request.prefill_instance)].workers;
            for (std::size_t r = 0; r < ranks.size(); ++r) {
                write(reach, to, process(reach, ranks[r]), LogLevel::error, "prefill.py", 262,
                      fmt::format("Prefill bootstrap failed for request rank={0} req.rid='{1}' req.bootstrap_room={2} with exception KVTransferError(bootstrap_room={2}): "
                                  "Request {2} timed out after {3:.1f}s in KVPoll.Bootstrapping",
                                  r, request.id, room, static_cast<double>(to - from) / 1e9));
            }
        } else {
            for (const ThreadIndex worker : instances[static_cast<std::size_t>(request.instance)].workers) {
                write(reach, to, process(reach, worker), LogLevel::error, "mooncake_connector.py", 812,
                      fmt::format("pulling kv_caches for ['{}'] failed: Timeout waiting for P side ready", request.id));
            }
        }
        // The other side keeps the blocks until the timeout is over.
        const int block = std::max(reach.options.deployment.block_size, 1);
        stranded_.push_back({to, request.prefill_instance, request.prompt_tokens / block + 1});
        return uniform(31, request.number) < kRefused ? TransferEnd::refused : TransferEnd::lost;
    }
    void before_schedule(SchedulerKnobs& knobs, InstanceIndex instance, TimeNs now, FaultReach& reach) override {
        std::erase_if(stranded_, [&](const Stranded& s) { return s.until <= now; });
        std::int64_t blocks = 0;
        for (const Stranded& s : stranded_) blocks += s.instance == instance ? s.blocks : 0;
        knobs.withheld_blocks = std::min(blocks, reach.device.kv_blocks() / 2);
    }
    /// A prompt that is computed where prompts never are.
    bool change_plan(StepPlan& plan, FaultReach& reach) override {
        return id() == "D9" && active(plan.scheduled) && plan.context_requests > 0 && decodes_only(plan.instance, reach);
    }
    bool change_program(ThreadProgram& program, const StepPlan& plan, FaultReach& reach) override {
        ProgramEdit edit(program.program, reach.names);
        if (program.part == ProgramPart::api) {
            const auto order = edit.range_of({Role::kv_transfer});
            if (!order || !active(program.not_before) || program.not_before >= fails_until_) return false;
            edit.mark_range(*order);
            return true;
        }
        if (id() != "D9" || !at_worker(program, reach) || plan.context_requests == 0 || !decodes_only(program.instance, reach)) return false;
        const auto forward = edit.range_of({Role::model_forward});
        if (!forward) return false;
        edit.mark_range(*forward);
        if (const auto work = edit.work_of({Role::attention})) edit.at(*work).suspect = true;
        return true;
    }

private:
    /// Share of the failed ones whose request fails with them.
    static constexpr double kRefused = 0.3;
    struct Stranded {
        TimeNs until = 0;
        InstanceIndex instance{};
        std::int64_t blocks = 0;
    };
    [[nodiscard]] static bool decodes_only(InstanceIndex instance, const FaultReach& reach) {
        return reach.host.places().instances[static_cast<std::size_t>(instance)].duty == InstanceDuty::decode_only;
    }

    TimeNs fails_until_ = 0;
    std::vector<Stranded> stranded_;
};

}  // namespace

std::unique_ptr<Fault> make_front_end_faults(const FaultSettings& settings, const Noise& noise) {
    const std::string_view id = settings.info->id;
    if (id == "E9" || id == "E13") return std::make_unique<FrontEnd>(settings, noise);
    return nullptr;
}

std::unique_ptr<Fault> make_transfer_faults(const FaultSettings& settings, const Noise& noise) {
    const std::string_view id = settings.info->id;
    if (id == "D8" || id == "D9") return std::make_unique<Transfers>(settings, noise);
    return nullptr;
}

}  // namespace faultline::simulator
