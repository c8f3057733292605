#include "ml/simulator/device/device_costs.h"

#include <algorithm>

namespace faultline::simulator {
namespace {

constexpr double kOfBandwidth = 0.85, kOfPeak = 0.65;
constexpr double kLeastProduct = 3'000;
constexpr double kLeastAttention = 7'000;
/// RDMA of 200 Gb/s, and sockets over the same card (FAULTS D4: 50 → 370 ms for 1 GB).
constexpr double kRdmaBytesPerNs = 22, kSocketBytesPerNs = 2.9;
constexpr double kRdmaLatency = 22'000, kSocketLatency = 90'000;
constexpr double kPcieBytesPerNs = 24;

TimeNs whole(double ns) { return static_cast<TimeNs>(ns); }

}  // namespace

bool takes_custom_all_reduce(const Deployment& deployment, const GpuCard& gpu, std::int64_t bytes) {
    constexpr std::int64_t kLargest = 8 << 20;
    constexpr double kNvlinkGbs = 100;
    return deployment.custom_all_reduce && deployment.nodes == 1 && bytes <= kLargest && (deployment.tp <= 2 || gpu.link_gb_s > kNvlinkGbs);
}

TimeNs DeviceCosts::product(std::int64_t rows, std::int64_t in, std::int64_t out, int bytes) const {
    const double weights = static_cast<double>(in * out * bytes);
    const double moved = weights + static_cast<double>(rows * (in + out) * bytes);
    const double by_memory = moved / (kOfBandwidth * gpu_.memory_gb_s);
    const double by_compute = 2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out) / (kOfPeak * gpu_.bf16_tflops * 1e3);
    return whole(std::max({kLeastProduct * gpu_.small_kernel, by_memory, by_compute}));
}

TimeNs DeviceCosts::elementwise(double base_us, std::int64_t bytes) const {
    return whole(base_us * 1e3 * gpu_.small_kernel + static_cast<double>(bytes) / (0.7 * gpu_.memory_gb_s));
}

TimeNs DeviceCosts::attention(std::int64_t kv_bytes, double query_kv, int heads, int head_dim) const {
    const double by_memory = static_cast<double>(kv_bytes) / (kOfBandwidth * gpu_.memory_gb_s);
    const double by_compute = 4.0 * query_kv * heads * head_dim / (0.5 * gpu_.bf16_tflops * 1e3);
    return whole(kLeastAttention * gpu_.small_kernel + std::max(by_memory, by_compute));
}

TimeNs DeviceCosts::experts(std::int64_t rows, std::int64_t weight_bytes, double flops_per_row) const {
    // Fitted to the A100 row of ENGINES §4.2: 54 us and 6.85 us an expert for the two products.
    const double by_memory = static_cast<double>(weight_bytes) / (0.71 * gpu_.memory_gb_s);
    const double by_compute = static_cast<double>(rows) * flops_per_row / (0.45 * gpu_.bf16_tflops * 1e3);
    return whole(23'500 * gpu_.small_kernel + std::max(by_memory, by_compute));
}

double DeviceCosts::link_bytes_per_ns(bool between_nodes) const {
    if (between_nodes) return deployment_.rdma ? kRdmaBytesPerNs : kSocketBytesPerNs;
    return 0.45 * gpu_.link_gb_s;
}

TimeNs DeviceCosts::all_reduce(std::int64_t bytes, int ranks, bool between_nodes) const {
    double latency = static_cast<double>(gpu_.link_latency_ns);
    // NCCL's rings cost more than the one-shot kernels of the engines, for small messages (ENGINES §4.4).
    if (!takes_custom_all_reduce(deployment_, gpu_, bytes)) latency *= 2.6;
    if (between_nodes) latency += deployment_.rdma ? kRdmaLatency : kSocketLatency;
    const double share = 2.0 * (ranks - 1) / ranks;
    return whole(latency + share * static_cast<double>(bytes) / link_bytes_per_ns(between_nodes));
}

TimeNs DeviceCosts::all_gather(std::int64_t bytes_out, int ranks, bool between_nodes) const {
    double latency = static_cast<double>(gpu_.link_latency_ns) * 2;
    if (between_nodes) latency += deployment_.rdma ? kRdmaLatency : kSocketLatency;
    const double share = static_cast<double>(ranks - 1) / ranks;
    return whole(latency + share * static_cast<double>(bytes_out) / link_bytes_per_ns(between_nodes));
}

TimeNs DeviceCosts::copy(std::int64_t bytes, bool pageable) const {
    return whole(1'200 + static_cast<double>(bytes) / (pageable ? kPcieBytesPerNs / 4 : kPcieBytesPerNs));
}

}  // namespace faultline::simulator
