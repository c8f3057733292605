#include "core/track_buffer.h"

#include <algorithm>

namespace faultline {

namespace {

template <class T>
void gather(std::vector<T>& values, std::span<const std::uint32_t> order) {
    std::vector<T> out(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) out[i] = values[order[i]];
    values = std::move(out);
}

}  // namespace

void TrackBuffer::rearrange(std::span<const std::uint32_t> order) {
    const std::size_t before = starts.size();
    for (auto& values : optional_) {
        if (values.empty()) continue;
        values.resize(before, kNull);
        gather(values, order);
    }
    gather(starts, order);
    gather(durations, order);
    gather(names, order);
    gather(kinds, order);
}

void TrackBuffer::append_from(const TrackBuffer& other, std::span<const std::uint32_t> positions) {
    const std::size_t before = starts.size();
    for (const std::uint32_t at : positions) append(other.starts[at], other.durations[at], other.names[at], other.kinds[at]);
    for (std::size_t c = 0; c < optional_.size(); ++c) {
        const auto& from = other.optional_[c];
        if (from.empty()) continue;
        auto& to = optional_[c];
        to.resize(before, kNull);
        for (const std::uint32_t at : positions) to.push_back(at < from.size() ? from[at] : kNull);
    }
}

void TrackBuffer::clear() {
    starts = {};
    durations = {};
    names = {};
    kinds = {};
    for (auto& values : optional_) values = {};
}

}  // namespace faultline
