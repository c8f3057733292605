// Graphs that are not replayed (B4), or only in pieces for some batch sizes (B5): launches, and the host in the way of the device.
#include "ml/simulator/faults/mechanism.h"

namespace faultline::simulator {
namespace {

class GraphChange final : public Mechanism {
public:
    GraphChange(FaultSettings settings, const Noise& noise) : Mechanism(std::move(settings), noise, {.scope = Scope::all, .structural = true}) {}

    bool change_kernels(StepKernels& kernels, const StepPlan& plan, int rank, FaultReach& reach) override {
        if (!at_kernels(plan, rank) || kernels.graphs != GraphMode::full) return false;
        // B5: some sizes fall between the captured ones, the same ones every time.
        const bool pieces = id() == "B5";
        if (first_size_ < 0) first_size_ = kernels.padded_batch;
        if (pieces && kernels.padded_batch / 8 % 2 != first_size_ / 8 % 2) return false;
        std::vector<Op> forward;
        forward.reserve(kernels.forward.size() * 2);
        bool open = false;  ///< a piece of a graph that goes on
        std::uint32_t n = 0;
        for (const Op& op : kernels.forward) {
            if (op.kind == OpKind::graph_launch) {
                launch_ = op;
                continue;
            }
            if (op.kind != OpKind::node) {
                forward.push_back(op);
                continue;
            }
            ++n;
            const bool eager = !pieces || is_attention(op.role) || op.role == Role::kv_write;
            if (eager) {
                Op own = reach.device.eager(op);
                // Ranks are not slow alike: their launches drift apart (FAULTS §7: 10 to 200 us of skew).
                own.cost += jittered(microseconds(), plan.step, 1000ULL * static_cast<unsigned>(rank) + n) / (pieces ? 1 : 2);
                own.suspect = pieces ? is_attention(op.role) : n % 16 == 1;
                forward.push_back(own);
                open = false;
                continue;
            }
            if (!open) {
                Op piece = launch_;
                piece.cost = 9'000;
                piece.suspect = true;
                forward.push_back(piece);
                open = true;
            }
            forward.push_back(op);
        }
        kernels.forward = std::move(forward);
        kernels.graphs = pieces ? GraphMode::piecewise : GraphMode::none;
        return true;
    }

private:
    Op launch_;
    int first_size_ = -1;  ///< padded, of the first step: it is one of those that fall between
};

}  // namespace

std::unique_ptr<Fault> make_graph_changes(const FaultSettings& settings, const Noise& noise) {
    const std::string_view id = settings.info->id;
    if (id == "B4" || id == "B5") return std::make_unique<GraphChange>(settings, noise);
    return nullptr;
}

}  // namespace faultline::simulator
