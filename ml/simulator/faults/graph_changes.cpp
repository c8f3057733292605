// Graphs that are not replayed (B4), or only in pieces for some batch sizes (B5): launches, and the host in the way of the device.
#include <fmt/format.h>

#include "ml/simulator/faults/mechanism.h"
#include "ml/simulator/logs/voice_words.h"

namespace faultline::simulator {
namespace {

class GraphChange final : public Mechanism {
public:
    GraphChange(FaultSettings settings, const Noise& noise) : Mechanism(std::move(settings), noise, {.scope = Scope::all, .structural = true}) {}

    bool change_kernels(StepKernels& kernels, const StepPlan& plan, int rank, FaultReach& reach) override {
        if (!at_kernels(plan, rank) || kernels.graphs != GraphMode::full) return false;
        if (id() == "B4" && !begun_) begin_without(kernels.padded_batch, plan.scheduled, reach);
        if (truncated_ && kernels.padded_batch <= kCaptured) return false;
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

    [[nodiscard]] bool told_by(std::string_view line) const override { return id() == "B4" && line.find("cuda graph: False") != std::string_view::npos; }

private:
    /// The largest batch that is left with a graph where sizes were cut.
    static constexpr int kCaptured = 4;

    /// Graphs are off altogether, or the batches of this run are above the sizes that were captured; vLLM says which (FAULTS B4).
    void begin_without(int batch, TimeNs now, FaultReach& reach) {
        begun_ = true;
        if (sglang() || engine_ == Engine::fsdp) return;
        const ProcessIndex front = process(reach, reach.host.places().api != ThreadIndex::none ? reach.host.places().api : place(reach).core);
        truncated_ = engine_ != Engine::vllm_v0 && batch > kCaptured && uniform(41) < 0.5;
        if (truncated_) {
            write(reach, now, front, LogLevel::warning, "vllm.py", 1719, fmt::format("Truncating max_cudagraph_capture_size to {}", kCaptured));
            return;
        }
        write(reach, now, core_process(reach), LogLevel::info, engine_ == Engine::vllm_v0 ? "llm_engine.py" : "core.py", engine_ == Engine::vllm_v0 ? 234 : 101,
              engine_configuration(reach.options, reach.device.model().title, true));
    }

    Op launch_;
    bool begun_ = false, truncated_ = false;
    int first_size_ = -1;  ///< padded, of the first step: it is one of those that fall between
};

}  // namespace

std::unique_ptr<Fault> make_graph_changes(const FaultSettings& settings, const Noise& noise) {
    const std::string_view id = settings.info->id;
    if (id == "B4" || id == "B5") return std::make_unique<GraphChange>(settings, noise);
    return nullptr;
}

}  // namespace faultline::simulator
