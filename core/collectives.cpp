#include "core/collectives.h"

#include <array>
#include <unordered_map>
#include <vector>

namespace faultline {

namespace {

/// Classifies each (kind, name) once.
class CommNames {
public:
    CommNames(const LayerRules& layers, const InternedNames& names) : layers_(layers), names_(names) {}

    bool is_comm(SpanKind kind, NameId name) {
        auto& known = known_[static_cast<std::size_t>(kind)];
        if (known.size() < names_.size()) known.resize(names_.size(), -1);
        std::int8_t& answer = known[index_of(name)];
        if (answer < 0) answer = layers_.classify(kind, names_.text(name)) == LayerClass::comm ? 1 : 0;
        return answer == 1;
    }

private:
    const LayerRules& layers_;
    const InternedNames& names_;
    std::array<std::vector<std::int8_t>, kSpanKindCount> known_;
};

bool can_communicate(SpanKind kind) {
    return kind == SpanKind::range || kind == SpanKind::op || kind == SpanKind::kernel || kind == SpanKind::accelerator;
}

constexpr std::array kSizes = {Column::group_size, Column::comm_bytes, Column::comm_sequence};

void inherit_sizes(TrackBuffer& device, std::uint32_t i, const std::unordered_map<std::uint32_t, const TrackBuffer*>& tracks) {
    if (device.get(i, Column::comm_bytes) != kNull || device.get(i, Column::group_size) != kNull) return;
    const SpanId launch{device.get(i, Column::launch)};
    if (!launch.valid()) return;
    const TrackBuffer& host = *tracks.at(index_of(launch.track()));
    for (std::int64_t at = static_cast<std::int64_t>(launch.ordinal()); at >= 0;) {
        const auto here = static_cast<std::uint32_t>(at);
        if (host.get(here, Column::comm_bytes) != kNull || host.get(here, Column::group_size) != kNull) {
            for (const Column c : kSizes)
                if (const std::int64_t value = host.get(here, c); value != kNull) device.set(i, c, value);
            return;
        }
        const std::int64_t parent = host.get(here, Column::parent);
        at = parent == kNull ? -1 : parent;
    }
}

}  // namespace

void mark_collectives(SourceBuilder& source, const LayerRules& layers) {
    CommNames names(layers, source.names());
    std::unordered_map<std::uint32_t, const TrackBuffer*> tracks;
    for (const TrackBuffer& t : source.tracks()) tracks[index_of(t.track.id)] = &t;
    for (TrackBuffer& t : source.tracks()) {
        if (t.track.kind != TrackKind::host && t.track.kind != TrackKind::device) continue;
        for (std::uint32_t i = 0; i < t.size(); ++i) {
            if (!can_communicate(t.kinds[i]) || !names.is_comm(t.kinds[i], t.names[i])) continue;
            t.add_flag(i, flag_collective);
            if (t.track.kind == TrackKind::device) inherit_sizes(t, i, tracks);
        }
    }
}

}  // namespace faultline
