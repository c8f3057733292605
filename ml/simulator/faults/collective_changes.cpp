// Collectives that take longer: without peer access (D3), over sockets (D4), with lost completions (D5), over full links (D6), with links that
// replay (D12), with a delay (D13), or because one rank comes late (D7).
#include <algorithm>

#include "ml/simulator/faults/mechanism.h"

namespace faultline::simulator {
namespace {

/// Above this a message is limited by bandwidth (FAULTS D6: decode messages stay fine).
constexpr std::int64_t kLargeMessage = 1 << 20;

class CollectiveChange final : public Mechanism {
public:
    CollectiveChange(FaultSettings settings, const Noise& noise)
        : Mechanism(std::move(settings), noise, {.scope = settings.info->id == "D12" ? Scope::rank : Scope::all, .structural = settings.info->id == "D3"}) {}

    void begin(FaultReach& reach) override {
        Mechanism::begin(reach);
        const TimeNs at = settings_.start;
        if (id() == "D3") {
            write(reach, at, worker_process(reach, 0), LogLevel::warning, "custom_all_reduce.py", 154,
                  "Custom allreduce is disabled because your platform lacks GPU P2P capability or P2P test failed. To silence this warning, specify "
                  "disable_custom_all_reduce=True explicitly.");
        }
        if (id() == "D4") {
            write(reach, at, worker_process(reach, 0), LogLevel::info, "net_socket.cc", 0, "NET/Socket : Using [0]bond0:10.0.0.11<0>", LogLayout::nccl_info);
            write(reach, at, worker_process(reach, 0), LogLevel::info, "init.cc", 0, "Using network Socket", LogLayout::nccl_info);
        }
        if (id() == "D12") {
            write(reach, at, worker_process(reach, first_rank()), LogLevel::error, "", 0,
                  "NVRM: Xid (PCI:0000:3b:00): 145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x00000004 0x00000000)", LogLayout::kernel);
        }
    }
    bool change_kernels(StepKernels& kernels, const StepPlan& plan, int rank, FaultReach& reach) override {
        if (!active(plan.scheduled) || (one_instance_ && plan.instance != instance())) return false;
        bool changed = false;
        std::uint64_t n = 0;
        for (auto* part : {&kernels.forward, &kernels.logits}) {
            for (Op& op : *part) {
                if (!is_collective(op)) continue;
                if (!change(op, plan, ++n, reach)) continue;
                // All take as long as the link that replays (D12), but it is one rank's.
                op.suspect = manner_.scope != Scope::rank || befalls(plan.instance, rank);
                changed = true;
            }
        }
        return changed;
    }
    void after_step(const StepRecord& record, FaultReach& reach) override {
        if (id() != "D5" || record.suspects.empty() || record.end < quiet_) return;
        quiet_ = record.end + 3'000'000'000;
        write(reach, record.end + 400'000'000, worker_process(reach, 0), LogLevel::warning, "net_ib.cc", 1437,
              "NET/IB : Got completion from peer 10.0.0.12<53210> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid fe80::1 remoteGids fe80::2 hca mlx5_0",
              LogLayout::nccl_warn);
    }

private:
    bool change(Op& op, const StepPlan& plan, std::uint64_t n, FaultReach& reach) {
        const auto scale = [&](double factor) { op.device_cost = static_cast<TimeNs>(static_cast<double>(op.device_cost) * factor); };
        if (id() == "D5" || id() == "D13") {
            // All ranks of a collective draw alike, so that they agree on its length.
            if (id() == "D5" && !loses_completion(plan.step, n)) return false;
            // A link with a delay costs every message a little, and some of them all of it (FAULTS §7).
            const bool whole = id() == "D5" || uniform(plan.step, 5000 + n) < 0.02;
            op.device_cost += jittered(whole ? milliseconds() : milliseconds() / 12, plan.step, n);
        } else if (id() == "D6") {
            if (op.bytes < kLargeMessage) return false;
            scale(size());
        } else if (id() == "D3") {
            if (op.role != Role::all_reduce) return false;
            op.device_name = reach.names.intern("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
            scale(size());
        } else {
            scale(size());
        }
        return true;
    }
    /// A small share of the messages, and one of the first step so that there is one at all.
    [[nodiscard]] bool loses_completion(StepNumber step, std::uint64_t n) {
        if (first_ == 0) first_ = step;
        return (step == first_ && n == 5) || uniform(step, n) < between(0.001, 0.02, 7) / 20;
    }

    StepNumber first_ = 0;
    TimeNs quiet_ = 0;
};

/// One rank has more to do before a collective, another one from time to time (expert or CPU skew).
class RankSkew final : public Mechanism {
public:
    RankSkew(FaultSettings settings, const Noise& noise) : Mechanism(std::move(settings), noise, {.scope = Scope::all, .roams = true}) {}

    bool change_kernels(StepKernels& kernels, const StepPlan& plan, int rank, FaultReach& reach) override {
        if (!active(plan.scheduled)) return false;
        const std::size_t ranks = reach.host.places().instances[static_cast<std::size_t>(plan.instance)].ranks.size();
        const auto late = settings_.ranks.empty() ? static_cast<int>(noise_.below(ranks, Draw::fault_choice, plan.step / 8, 9)) : first_rank();
        if (rank != late) return false;
        bool changed = false;
        std::uint64_t n = 0;
        for (Op& op : kernels.forward) {
            if (!is_device_work(op) || !(op.role == Role::down_gemm || op.role == Role::moe_down)) continue;
            if (uniform(plan.step, ++n) > 0.25) continue;
            op.device_cost += jittered(microseconds(), plan.step, n);
            op.suspect = changed = true;
        }
        return changed;
    }
};

}  // namespace

std::unique_ptr<Fault> make_collective_changes(const FaultSettings& settings, const Noise& noise) {
    const std::string_view id = settings.info->id;
    for (const std::string_view known : {"D3", "D4", "D5", "D6", "D12", "D13"}) {
        if (id == known) return std::make_unique<CollectiveChange>(settings, noise);
    }
    if (id == "D7") return std::make_unique<RankSkew>(settings, noise);
    return nullptr;
}

}  // namespace faultline::simulator
