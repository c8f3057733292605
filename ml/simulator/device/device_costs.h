// How long a kernel takes: bytes over bandwidth, operations over speed (ENGINES §4.3). Nanoseconds without jitter. Values; any thread.
#pragma once

#include <cstdint>

#include "ml/simulator/base/run_options.h"
#include "ml/simulator/device/cards.h"

namespace faultline::simulator {

/// Whether the engine's own all-reduce takes such a message: up to 8 MiB, inside a node, and on more than two ranks only over
/// NVLink (FAULTS D3: "not supported on more than two PCIe-only GPUs").
[[nodiscard]] bool takes_custom_all_reduce(const Deployment& deployment, const GpuCard& gpu, std::int64_t bytes);

class DeviceCosts {
public:
    DeviceCosts(const GpuCard& gpu, const Deployment& deployment) : gpu_(gpu), deployment_(deployment) {}

    /// A product of [rows, in] and [in, out] weights: 85 % of the bandwidth or 65 % of the peak, at least 3 us.
    [[nodiscard]] TimeNs product(std::int64_t rows, std::int64_t in, std::int64_t out, int bytes) const;
    /// An elementwise kernel over so many bytes, read and written.
    [[nodiscard]] TimeNs elementwise(double base_us, std::int64_t bytes) const;
    /// Attention: reads `kv_bytes`, or computes `query_kv` products of a query with a key per head.
    [[nodiscard]] TimeNs attention(std::int64_t kv_bytes, double query_kv, int heads, int head_dim) const;
    /// The two expert products of a layer together (ENGINES §4.2): grows with the experts touched, then with the tokens.
    [[nodiscard]] TimeNs experts(std::int64_t rows, std::int64_t weight_bytes, double flops_per_row) const;
    [[nodiscard]] TimeNs all_reduce(std::int64_t bytes, int ranks, bool between_nodes) const;
    [[nodiscard]] TimeNs all_gather(std::int64_t bytes_out, int ranks, bool between_nodes) const;
    [[nodiscard]] TimeNs copy(std::int64_t bytes, bool pageable) const;

private:
    [[nodiscard]] double link_bytes_per_ns(bool between_nodes) const;

    const GpuCard& gpu_;
    const Deployment& deployment_;
};

}  // namespace faultline::simulator
