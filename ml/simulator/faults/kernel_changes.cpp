// Kernels of another build or configuration, slower in every call: attention (B1), its combination (B10), experts (B8).
#include "ml/simulator/faults/mechanism.h"

namespace faultline::simulator {
namespace {

class KernelChange final : public Mechanism {
public:
    KernelChange(FaultSettings settings, const Noise& noise) : Mechanism(std::move(settings), noise, {.scope = Scope::all, .structural = true}) {}

    void begin(FaultReach& reach) override {
        Mechanism::begin(reach);
        if (id() == "B8") {
            write(reach, settings_.start, worker_process(reach, 0), LogLevel::warning, "fused_moe.py", 796,
                  "Using default MoE config. Performance might be sub-optimal! Config file not found at "
                  "/usr/local/lib/python3.12/dist-packages/vllm/model_executor/layers/fused_moe/configs/E=128,N=768,device_name=" + device_name(reach) + ".json");
        }
    }
    bool change_kernels(StepKernels& kernels, const StepPlan& plan, int rank, FaultReach& reach) override {
        if (!at_kernels(plan, rank)) return false;
        bool changed = false;
        for (Op& op : kernels.forward) {
            if (!is_device_work(op) || !concerns(op.role)) continue;
            op.device_name = reach.device.other_build(op.role, op.device_name);
            op.device_cost = static_cast<TimeNs>(static_cast<double>(op.device_cost) * factor());
            if (id() == "B8") op.grid *= 2;
            op.suspect = changed = true;
        }
        return changed;
    }

private:
    [[nodiscard]] bool concerns(Role role) const {
        if (id() == "B8") return role == Role::moe_up || role == Role::moe_down;
        if (id() == "B10") return role == Role::attention_combine;
        return role == Role::attention;
    }
    /// Combining costs as much as the attention itself, whatever the context (FAULTS B10).
    [[nodiscard]] double factor() const { return id() == "B10" ? 4 * size() : size(); }
    [[nodiscard]] static std::string device_name(const FaultReach& reach) {
        std::string name(reach.device.gpu().title);
        for (char& c : name) c = c == ' ' ? '_' : c;
        return name;
    }
};

}  // namespace

std::unique_ptr<Fault> make_kernel_changes(const FaultSettings& settings, const Noise& noise) {
    const std::string_view id = settings.info->id;
    if (id == "B1" || id == "B8" || id == "B10") return std::make_unique<KernelChange>(settings, noise);
    return nullptr;
}

}  // namespace faultline::simulator
