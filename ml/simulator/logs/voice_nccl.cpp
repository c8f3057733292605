// NCCL's own lines while communicators are made.
#include <fmt/format.h>

#include <algorithm>

#include "ml/simulator/logs/voice_base.h"

namespace faultline::simulator {

void VoiceBase::nccl_start(Script& script, InstanceIndex instance, double begin, double end, std::string_view version) const {
    const auto& members = ranks(instance);
    const auto count = members.size();
    if (count < 2) return;
    const bool spans = std::any_of(members.begin(), members.end(),
                                   [&](ProcessIndex p) { return topology_->process(p).node != topology_->process(members.front()).node; });
    const auto key = static_cast<std::uint64_t>(instance);
    const auto id = noise_.bits(Draw::log_detail, 20, key);
    const std::string network = address().substr(0, address().rfind('.'));
    const auto at = [&](double share) { return begin + (end - begin) * share; };
    std::string ring;
    for (std::size_t r = 0; r < count; ++r) ring += fmt::format(" {}", r);
    for (std::size_t r = 0; r < count; ++r) {
        const ProcessIndex p = members[r];
        const double late = 0.02 * static_cast<double>(r) / static_cast<double>(count);
        const auto say = [&](double share, std::string text) { script.put(at(share + late), p, LogLayout::nccl_info, std::move(text)); };
        const int local = static_cast<int>(r) % std::max(1, static_cast<int>(count) / std::max(1, options_.deployment.nodes));
        const std::string comm =
            fmt::format("ncclCommInitRank comm 0x{:x} rank {} nranks {} cudaDev {} nvmlDev {} busId {:x} commId 0x{:x}",
                        0x55d000000000ULL + (noise_.bits(Draw::log_detail, 21, key, r) & 0xFFFFFFFF0ULL), r, count, local, local,
                        0x1b000 + 0x21000 * local, id);
        say(0, fmt::format("Bootstrap: Using eth0:{}.{}<0>", network, 11 + static_cast<int>(topology_->process(p).node)));
        if (r == 0) say(0.05, "cudaDriverVersion 12090");
        if (r == 0) say(0.06, fmt::format("NCCL version {}", version));
        if (options_.deployment.rdma)
            say(0.2, fmt::format("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:{}.{}<0>", network,
                                 11 + static_cast<int>(topology_->process(p).node)));
        else
            say(0.2, fmt::format("NET/Socket : Using [0]eth0:{}.{}<0>", network, 11 + static_cast<int>(topology_->process(p).node)));
        say(0.22, options_.deployment.rdma ? "Using network IB" : "Using network Socket");
        say(0.3, comm + " - Init START");
        if (r == 0)
            for (int channel = 0; channel < 4; ++channel) say(0.5 + 0.01 * channel, fmt::format("Channel {:02}/04 :{}", channel, ring));
        say(0.7, fmt::format("Channel 00/0 : {}[{}] -> {}[{}] {}", r, local, (r + 1) % count, (static_cast<std::size_t>(local) + 1) % count,
                             spans && (r + 1) % count == 0
                                 ? (options_.deployment.rdma ? "[send] via NET/IB/0/GDRDMA" : "[send] via NET/Socket/0")
                                 : "via P2P/CUMEM"));
        say(0.8, fmt::format("Connected all rings, use ring PXN 0 GDR {}", options_.deployment.rdma ? 1 : 0));
        say(0.9, comm + " - Init COMPLETE");
    }
}

}  // namespace faultline::simulator
