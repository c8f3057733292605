// Operators of a layer in another order, or one of them twice (E18). Nothing is slower; the shape of the step is not the usual one.
#include <algorithm>

#include "ml/simulator/faults/mechanism.h"

namespace faultline::simulator {
namespace {

class OperatorOrder final : public Mechanism {
public:
    OperatorOrder(FaultSettings settings, const Noise& noise) : Mechanism(std::move(settings), noise, {.scope = Scope::all, .structural = true}) {}

    bool change_kernels(StepKernels& kernels, const StepPlan& plan, int rank, FaultReach&) override {
        if (!at_kernels(plan, rank) || (seen_ != plan.step && uniform(plan.step) > 0.3 && seen_ != 0)) return false;
        seen_ = plan.step;
        const bool twice = uniform(3) < 0.4;
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < kernels.forward.size(); ++i) {
            const Role wanted = twice ? Role::activation : Role::kv_write;
            if (is_device_work(kernels.forward[i]) && kernels.forward[i].role == wanted) places.push_back(i);
        }
        if (places.empty()) return false;
        // The last layers first, so that earlier places stay where they are.
        const std::size_t count = std::min<std::size_t>(places.size(), static_cast<std::size_t>(size()) + 1);
        for (std::size_t k = 0; k < count; ++k) {
            const std::size_t at = places[places.size() - 1 - k];
            Op op = kernels.forward[at];
            op.suspect = true;
            if (twice) {
                kernels.forward[at].suspect = true;
                kernels.forward.insert(kernels.forward.begin() + static_cast<std::ptrdiff_t>(at) + 1, op);
                continue;
            }
            // The KV write behind the attention that reads what it writes.
            std::size_t to = at + 1;
            while (to < kernels.forward.size() && kernels.forward[to].role != Role::attention) ++to;
            if (to >= kernels.forward.size()) continue;
            kernels.forward.erase(kernels.forward.begin() + static_cast<std::ptrdiff_t>(at));
            kernels.forward[to - 1].suspect = true;
            kernels.forward.insert(kernels.forward.begin() + static_cast<std::ptrdiff_t>(to), op);
        }
        return true;
    }

private:
    StepNumber seen_ = 0;
};

}  // namespace

std::unique_ptr<Fault> make_structure_faults(const FaultSettings& settings, const Noise& noise) {
    if (settings.info->id == "E18") return std::make_unique<OperatorOrder>(settings, noise);
    return nullptr;
}

}  // namespace faultline::simulator
