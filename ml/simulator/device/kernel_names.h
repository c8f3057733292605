// How the kernels of a role are called: by engine, GPU generation, backend, build, and by the number of rows (ENGINES §4.1, §4.2, §4.4).
#pragma once

#include <string>
#include <string_view>

#include "ml/simulator/base/piece.h"
#include "ml/simulator/base/role.h"
#include "ml/simulator/base/run_options.h"
#include "ml/simulator/device/cards.h"

namespace faultline::simulator {

class KernelNames {
public:
    KernelNames(const Deployment& deployment, const ModelCard& model, const GpuCard& gpu)
        : deployment_(deployment), gpu_(gpu), hopper_(gpu.compute_major >= 9), triton_experts_(model.triton_experts) {}

    /// `rows` are those of the product or the queries; `prefill`: prompt tokens are among them.
    [[nodiscard]] std::string name(Role role, std::int64_t rows, bool prefill, std::int64_t bytes = 0) const;
    /// Of the small kernels that a role takes beside (or instead of) the one it is known by.
    [[nodiscard]] std::string piece(Piece piece) const;
    [[nodiscard]] static double piece_base_us(Piece piece);  ///< its time without data, on an H100
    /// The same role in another build or by another backend (FAULTS B1, B8, B10, B12); empty where there is none.
    [[nodiscard]] static std::string other_build(Role role, std::string_view usual);
    [[nodiscard]] bool hopper() const { return hopper_; }
    [[nodiscard]] bool sglang() const { return deployment_.engine == Engine::sglang; }
    [[nodiscard]] bool compiled() const;  ///< torch.compile fuses the small kernels
    /// cuBLAS of CUDA 12.4 and before, where what runs comes from its years: products on Hopper are named otherwise.
    [[nodiscard]] bool older_cublas() const;

private:
    [[nodiscard]] std::string product(Role role, std::int64_t rows) const;
    [[nodiscard]] std::string attention(std::int64_t rows, bool prefill) const;
    [[nodiscard]] std::string norm(Role role) const;

    const Deployment& deployment_;
    const GpuCard& gpu_;
    bool hopper_, triton_experts_;
};

}  // namespace faultline::simulator
