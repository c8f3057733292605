#include "core/stall_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/evidence_texts.h"

namespace faultline {

namespace {

constexpr std::size_t kMostHost = 4;

class StallReading {
public:
    StallReading(const CaptureReader& capture, NameFamilies& families, const Step& stall)
        : capture_(capture), families_(families), stall_(stall) {}

    Result<StallFindings> run() {
        for (const Track& track : capture_.tracks()) {
            if (track.kind != TrackKind::host && track.kind != TrackKind::device) continue;
            if (Result<void> read = read_track(track); !read) return tl::unexpected<Error>(read.error());
        }
        // What comes again and again in it or lies over much of it; the rest is only what was going on when it began.
        const TimeNs much = (stall_.end - stall_.start) / 20;
        for (auto& [key, of] : host_)
            if (of.count >= 3 || of.inside_ns >= much) out_.host.push_back(of);
        const auto longer = [](const StallSpan& a, const StallSpan& b) {
            return a.inside_ns != b.inside_ns ? a.inside_ns > b.inside_ns : a.span < b.span;
        };
        std::sort(out_.device.begin(), out_.device.end(), longer);
        std::sort(out_.host.begin(), out_.host.end(), longer);
        if (out_.host.size() > kMostHost) out_.host.resize(kMostHost);
        return std::move(out_);
    }

private:
    Result<void> read_track(const Track& track) {
        const std::vector<Chunk>& chunks = capture_.chunks(track.id);
        for (std::size_t i = 0; i < chunks.size(); ++i) {
            if (chunks[i].min_start + track.clock_offset_ns >= stall_.end || chunks[i].max_end + track.clock_offset_ns <= stall_.start)
                continue;
            for (const auto& [column, out] : {std::pair{Column::start, &starts_},
                                              {Column::duration, &durations_},
                                              {Column::kind, &kinds_},
                                              {Column::name, &names_},
                                              {Column::flags, &flags_}})
                if (Result<void> read = capture_.read_chunk(track.id, i, column, *out); !read) return read;
            for (std::size_t s = 0; s < starts_.size(); ++s) add(track, SpanId::make(track.id, chunks[i].first_ordinal + s), s);
        }
        return {};
    }

    void add(const Track& track, SpanId span, std::size_t s) {
        const TimeNs inside = std::min(stall_.end, starts_[s] + durations_[s]) - std::max(stall_.start, starts_[s]);
        const bool starts = starts_[s] >= stall_.start && starts_[s] < stall_.end;
        if (inside <= 0 && !starts) return;
        StallSpan of;
        of.span = span;
        of.kind = static_cast<SpanKind>(kinds_[s]);
        of.name = NameId{static_cast<std::uint32_t>(names_[s])};
        of.collective = flags_[s] != kNull && (flags_[s] & flag_collective) != 0;
        of.start = starts_[s];
        of.inside_ns = std::max<TimeNs>(0, inside);
        of.count = starts ? 1 : 0;
        if (const Source* source = capture_.source(track.source)) of.rank = source->rank;
        if (const Process* process = track.process ? capture_.process(*track.process) : nullptr; process && process->rank)
            of.rank = process->rank;
        of.family = families_.id(of.kind, of.name);
        if (track.kind == TrackKind::device) {
            out_.kernels += starts && of.kind == SpanKind::kernel ? 1 : 0;
            if (is_device_work(of.kind) && 2 * of.inside_ns >= stall_.end - stall_.start) out_.device.push_back(of);
            return;
        }
        if (of.kind != SpanKind::range && of.kind != SpanKind::op && !is_api_call(of.kind)) return;
        OperatorInstance as_instance;
        as_instance.kind = of.kind;
        as_instance.group = of.name;
        as_instance.rank = of.rank;
        const auto [known, fresh] = host_.emplace(operator_key(as_instance), of);
        if (fresh) return;
        known->second.inside_ns += of.inside_ns;
        known->second.count += of.count;
    }

    const CaptureReader& capture_;
    NameFamilies& families_;
    const Step& stall_;
    StallFindings out_;
    std::unordered_map<std::uint64_t, StallSpan> host_;
    std::vector<std::int64_t> starts_, durations_, kinds_, names_, flags_;
};

bool schedules(const StallFindings& findings, const FamilyRules& families) {
    return std::any_of(findings.host.begin(), findings.host.end(),
                       [&](const StallSpan& s) { return families.name(s.family) == "schedule" && s.count >= 3; });
}

}  // namespace

Result<StallFindings> find_in_stall(const CaptureReader& capture, NameFamilies& families, const Step& stall) {
    return StallReading(capture, families, stall).run();
}

std::vector<Evidence> stall_evidence(const CaptureReader& capture, const StallFindings& findings, const Step& stall) {
    std::vector<Evidence> out;
    const TimeNs length = stall.end - stall.start;
    for (const StallSpan& s : findings.device) {
        std::string sentence = fmt::format("{}{} runs through {} of the {} of the stall.", short_name(capture.name(s.name)),
                                           on_rank(s.rank), time_words(s.inside_ns), time_words(length));
        out.push_back({EvidenceKind::span, s.span.value, s.start, s.inside_ns, std::move(sentence)});
    }
    for (const StallSpan& s : findings.host) {
        const std::string name = short_name(capture.name(s.name));
        std::string sentence = s.count >= 3
                                   ? fmt::format("{} ran {} in the stall{} for {} in all, and {} kernels started.", name,
                                                 count_words(static_cast<double>(s.count)), on_rank(s.rank), time_words(s.inside_ns),
                                                 findings.kernels == 0 ? std::string("no") : std::to_string(findings.kernels))
                                   : fmt::format("{}{} covers {} of the stall.", name, on_rank(s.rank), time_words(s.inside_ns));
        out.push_back({EvidenceKind::span, s.span.value, s.start, s.inside_ns, std::move(sentence)});
    }
    return out;
}

FaultReading read_stall(const StallFindings& findings, const FamilyRules& families, std::span<const StepLog> logs) {
    FaultReading reading;
    reading.abnormal = true;
    reading.explained = 1;
    using Type = FaultType;
    const bool collective = std::any_of(findings.device.begin(), findings.device.end(), [](const StallSpan& s) { return s.collective; });
    if (collective)
        reading.types = {{Type::communication_network, 0.55}, {Type::runtime_driver, 0.2}, {Type::scheduling_software, 0.15}};
    else if (!findings.device.empty())
        reading.types = {{Type::cuda_kernel, 0.65}, {Type::runtime_driver, 0.25}};
    else if (schedules(findings, families))
        reading.types = {{Type::scheduling_software, 0.7}, {Type::memory_resource, 0.2}};
    else
        reading.types = {{Type::scheduling_software, 0.35}, {Type::runtime_driver, 0.35}, {Type::memory_resource, 0.1}};
    for (const StepLog& log : logs) {
        if (!log.cue || !log.serious) continue;
        for (auto& type : reading.types) type.confidence *= 0.6;
        const auto known =
            std::find_if(reading.types.begin(), reading.types.end(), [&](const auto& t) { return t.fault_type == *log.cue; });
        if (known == reading.types.end())
            reading.types.push_back({*log.cue, 0.35});
        else
            known->confidence += 0.35;
        break;
    }
    std::stable_sort(reading.types.begin(), reading.types.end(), [](const auto& a, const auto& b) { return a.confidence > b.confidence; });
    return reading;
}

}  // namespace faultline
