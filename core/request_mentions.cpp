// The places of a source that name requests.
#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

#include "core/requests.h"

namespace faultline {

namespace {

/// The answer for each name that some rule may match; no other name is looked at.
class NameAnswers {
public:
    NameAnswers(const InternedNames& names, const RequestRules& rules) : names_(names), rules_(rules), candidate_(names.size(), false) {
        for (std::uint32_t i = 0; i < names.size(); ++i)
            if (rules.may_match_span(names.text(NameId{i}))) candidate_[i] = any_ = true;
    }
    [[nodiscard]] bool any() const noexcept { return any_; }

    /// Null where the name says nothing as a span of this kind.
    const RequestText* operator()(SpanKind kind, NameId name) {
        const std::size_t i = index_of(name);
        if (i >= candidate_.size() || !candidate_[i]) return nullptr;
        const std::uint64_t key = (std::uint64_t{i} << 8) | static_cast<std::uint64_t>(kind);
        const auto [found, added] = known_.try_emplace(key);
        if (added) found->second = rules_.match_span(kind, names_.text(name));
        return found->second ? &*found->second : nullptr;
    }

private:
    const InternedNames& names_;
    const RequestRules& rules_;
    std::vector<bool> candidate_;
    bool any_ = false;
    std::unordered_map<std::uint64_t, std::optional<RequestText>> known_;
};

/// The answer for each argument text that was kept because it may name requests.
class ArgsAnswers {
public:
    ArgsAnswers(const SourceBuilder& source, const RequestRules& rules) : rules_(rules) {
        for (const InternedTexts::Watched& w : source.watched_texts()) texts_.emplace(std::int64_t{index_of(w.id)}, &w.text);
    }
    [[nodiscard]] bool any() const noexcept { return !texts_.empty(); }

    const RequestText* operator()(SpanKind kind, std::int64_t text) {
        const auto kept = texts_.find(text);
        if (kept == texts_.end()) return nullptr;
        const auto [found, added] = known_.try_emplace((static_cast<std::uint64_t>(text) << 8) | static_cast<std::uint64_t>(kind));
        if (added) found->second = rules_.match_args(kind, *kept->second);
        return found->second ? &*found->second : nullptr;
    }

private:
    const RequestRules& rules_;
    std::unordered_map<std::int64_t, const std::string*> texts_;
    std::unordered_map<std::uint64_t, std::optional<RequestText>> known_;
};

RequestMention mention_of(const RequestText& text, const std::string& id) {
    RequestMention m;
    m.request = id;
    m.event = text.event;
    m.prompt_tokens = text.prompt_tokens;
    m.output_tokens = text.output_tokens;
    m.ttft_ns = text.ttft_ns;
    m.latency_ns = text.latency_ns;
    return m;
}

class SpanMentions {
public:
    SpanMentions(SourceBuilder& source, const RequestRules& rules)
        : source_(source), rules_(rules), names_(source.names(), rules), args_(source, rules) {}

    void find() {
        if (!names_.any() && !args_.any()) return;
        std::array<bool, kSpanKindCount> covered{};
        for (std::size_t k = 0; k < covered.size(); ++k) covered[k] = rules_.covers(static_cast<SpanKind>(k));
        for (const TrackBuffer& t : source_.tracks()) {
            const std::vector<std::int64_t>& args = t.column(Column::args);
            const bool read_args = args_.any() && !args.empty();
            if (!names_.any() && !read_args) continue;
            for (std::uint32_t i = 0; i < t.size(); ++i) {
                if (!covered[static_cast<std::size_t>(t.kinds[i])]) continue;
                const RequestText* const name = names_(t.kinds[i], t.names[i]);
                if (name) add(t, i, *name);
                if (read_args && i < args.size() && args[i] != kNull)
                    if (const RequestText* const text = args_(t.kinds[i], args[i])) add(t, i, *text, name);
            }
        }
    }

private:
    /// `said`: what the name of the span has given already.
    void add(const TrackBuffer& t, std::uint32_t i, const RequestText& text, const RequestText* said = nullptr) {
        std::unordered_set<std::string_view> known;
        if (said) known.insert(said->ids.begin(), said->ids.end());
        for (const std::string& id : text.ids) {
            if (known.contains(id)) continue;
            RequestMention m = mention_of(text, id);
            const std::int64_t step = t.get(i, Column::step);
            if (step != kNull) m.step = StepId{step};
            if (m.event == RequestEvent::in_step && !m.step) m.event = RequestEvent::mention;
            m.time = t.starts[i];
            m.end = t.end(i);
            m.source = source_.source.id;
            m.span = SpanId::make(t.track.id, i);
            source_.mentions.push_back(std::move(m));
        }
    }

    SourceBuilder& source_;
    const RequestRules& rules_;
    NameAnswers names_;
    ArgsAnswers args_;
};

void find_log_mentions(SourceBuilder& source, const RequestRules& rules) {
    for (const LogLine& line : source.logs)
        for (const RequestText& text : rules.match_log(line.logger, line.text))
            for (const std::string& id : text.ids) {
                RequestMention m = mention_of(text, id);
                m.time = line.time;
                m.resolution_ns = line.resolution_ns;
                m.end = line.time.value_or(0);
                m.source = source.source.id;
                m.log = line.id;
                source.mentions.push_back(std::move(m));
            }
}

}  // namespace

void find_mentions(SourceBuilder& source, const RequestRules& rules) {
    SpanMentions(source, rules).find();
    find_log_mentions(source, rules);
}

}  // namespace faultline
