#include "core/step_texts.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace faultline {

std::vector<HostThread> host_threads(const SourceBuilder& source) {
    std::vector<HostThread> threads;
    std::map<std::tuple<std::int64_t, std::int64_t, int>, std::size_t> known;
    std::uint32_t position = 0;
    for (const TrackBuffer& t : source.tracks()) {
        const std::uint32_t here = position++;
        if (t.track.kind != TrackKind::host) continue;
        const auto id_or_none = [](const auto& id) { return id ? static_cast<std::int64_t>(index_of(*id)) : std::int64_t{-1}; };
        // A track without a thread stands alone.
        const auto thread = t.track.thread ? id_or_none(t.track.thread) : -2 - static_cast<std::int64_t>(here);
        const auto [found, made] = known.try_emplace({id_or_none(t.track.process), thread, t.track.part}, threads.size());
        if (made) threads.push_back({t.track.process, {}});
        threads[found->second].tracks.push_back(here);
    }
    for (HostThread& thread : threads)
        std::stable_sort(thread.tracks.begin(), thread.tracks.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return source.tracks()[a].track.lane < source.tracks()[b].track.lane; });
    return threads;
}

namespace {

/// The answer of the grammar for each name of one kind.
class KindAnswers {
public:
    KindAnswers(const StepGrammar& grammar, SpanKind kind, const InternedNames& names, std::deque<StepText>& texts)
        : grammar_(grammar), kind_(kind), names_(names), texts_(texts), asked_(names.size(), false), answers_(names.size(), nullptr) {}

    const StepText* operator()(NameId name) {
        const std::size_t i = index_of(name);
        if (i >= asked_.size()) return nullptr;
        if (!asked_[i]) {
            asked_[i] = true;
            if (auto text = grammar_.match(kind_, names_.text(name)); text && text->role != StepRole::phase) {
                texts_.push_back(*text);
                answers_[i] = &texts_.back();
            }
        }
        return answers_[i];
    }

private:
    const StepGrammar& grammar_;
    SpanKind kind_;
    const InternedNames& names_;
    std::deque<StepText>& texts_;
    std::vector<bool> asked_;
    std::vector<const StepText*> answers_;
};

}  // namespace

StepTexts match_step_texts(const SourceBuilder& source, const StepGrammar& grammar) {
    StepTexts found;
    std::array<std::unique_ptr<KindAnswers>, kSpanKindCount> answers;
    for (std::size_t k = 0; k < answers.size(); ++k)
        if (grammar.covers(static_cast<SpanKind>(k)))
            answers[k] = std::make_unique<KindAnswers>(grammar, static_cast<SpanKind>(k), source.names(), found.texts);
    std::uint32_t position = 0;
    for (const TrackBuffer& t : source.tracks()) {
        const std::uint32_t here = position++;
        if (t.track.kind != TrackKind::host && t.track.kind != TrackKind::device) continue;
        for (std::uint32_t i = 0; i < t.size(); ++i) {
            const auto& answer = answers[static_cast<std::size_t>(t.kinds[i])];
            if (!answer) continue;
            if (const StepText* text = (*answer)(t.names[i]))
                found.by_role[static_cast<std::size_t>(text->role)].push_back({{here, i}, t.starts[i], t.end(i), text});
        }
    }
    return found;
}

namespace {

/// What an inner text adds to the one around it.
void fill_from(StepText& text, const StepText& inner) {
    if (text.phase == StepPhase::other && !text.has_counts()) text.phase = inner.phase;
    if (!text.number) text.number = inner.number;
    fill_counts(text, inner);
}

struct Nest {
    std::vector<MatchedSpan> spans;               ///< by start, longer first
    std::vector<std::vector<std::size_t>> inner;  ///< spans directly inside each
    std::vector<std::size_t> roots;
};

Nest nest(std::vector<MatchedSpan> spans) {
    std::stable_sort(spans.begin(), spans.end(),
                     [](const MatchedSpan& a, const MatchedSpan& b) { return a.start != b.start ? a.start < b.start : a.end > b.end; });
    Nest n{std::move(spans), {}, {}};
    n.inner.resize(n.spans.size());
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < n.spans.size(); ++i) {
        // What crosses the end of the span before it does not lie inside it.
        while (!open.empty() && (n.spans[open.back()].end <= n.spans[i].start || n.spans[open.back()].end < n.spans[i].end))
            open.pop_back();
        (open.empty() ? n.roots : n.inner[open.back()]).push_back(i);
        open.push_back(i);
    }
    return n;
}

}  // namespace

std::vector<StepRange> nested_steps(const SourceBuilder& source, std::vector<MatchedSpan> spans, std::size_t thread, bool inferred) {
    const Nest n = nest(std::move(spans));
    std::vector<char> counts_inside(n.spans.size(), 0);
    for (std::size_t i = n.spans.size(); i-- > 0;)  // those inside stand behind
        for (const std::size_t c : n.inner[i])
            counts_inside[i] |= static_cast<char>(counts_inside[c] != 0 || n.spans[c].text->has_counts());

    std::vector<StepRange> steps;
    std::vector<std::size_t> todo(n.roots.rbegin(), n.roots.rend());
    while (!todo.empty()) {
        const std::size_t i = todo.back();
        todo.pop_back();
        const MatchedSpan& span = n.spans[i];
        if (!span.text->has_counts() && counts_inside[i]) {
            todo.insert(todo.end(), n.inner[i].rbegin(), n.inner[i].rend());
            continue;
        }
        const TrackBuffer& track = source.tracks()[span.place.track];
        StepRange step{*span.text, std::string(source.names().text(track.names[span.place.at])), inferred, thread, span.start, span.end,
                       {}};
        std::vector<std::size_t> within{i};
        while (!within.empty()) {
            const std::size_t w = within.back();
            within.pop_back();
            const SpanPlace place = n.spans[w].place;
            step.spans.push_back(SpanId::make(source.tracks()[place.track].track.id, place.at));
            if (w != i) fill_from(step.text, *n.spans[w].text);
            within.insert(within.end(), n.inner[w].rbegin(), n.inner[w].rend());
        }
        steps.push_back(std::move(step));
    }
    std::stable_sort(steps.begin(), steps.end(), [](const StepRange& a, const StepRange& b) { return a.start < b.start; });
    return steps;
}

}  // namespace faultline
