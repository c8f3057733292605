#include "core/request_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <unordered_set>

#include "core/embedded.h"
#include "core/rule_file.h"

namespace faultline {

namespace {

enum Field : std::size_t { f_id, f_prompt_tokens, f_output_tokens, f_ttft, f_latency, kFields };
constexpr std::array<std::string_view, kFields> kFieldNames{"id", "prompt_tokens", "output_tokens", "ttft_s", "latency_s"};
constexpr std::array<std::string_view, 7> kEventNames{"mention", "arrival", "in_step", "first_token", "finished", "aborted", "preempted"};
constexpr std::array<std::string_view, 3> kPlaceNames{"range", "log", "args"};
constexpr int kMaxGroups = 8;
constexpr std::size_t kLongestId = 512;  ///< what is longer is text that lost its end
constexpr KindMask kUsualKinds =
    kind_bit(SpanKind::range) | kind_bit(SpanKind::async) | kind_bit(SpanKind::instant) | kind_bit(SpanKind::other);

std::optional<TimeNs> seconds(std::string_view digits) {
    constexpr double kMost = 1e9;  // thirty years
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size() || !(value >= 0 && value < kMost))
        return std::nullopt;
    return std::llround(value * 1e9);
}

/// Texts are read byte by byte: an id is ASCII, and what surrounds it can be cut in the middle of a character.
RE2::Options byte_options() {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_encoding(RE2::Options::EncodingLatin1);
    options.set_max_mem(std::int64_t{32} << 20);
    return options;
}

std::unique_ptr<RE2> compiled(std::string_view pattern) {
    return std::make_unique<RE2>(re2::StringPiece(pattern.data(), pattern.size()), byte_options());
}

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view trimmed(std::string_view s) {
    const auto first = s.find_first_not_of(kBlanks);
    return first == std::string_view::npos ? std::string_view{} : s.substr(first, s.find_last_not_of(kBlanks) - first + 1);
}

bool is_quote(char c) { return c == '\'' || c == '"'; }

/// One entry of a list: quoted, or a key of a dictionary, or bare.
std::string_view id_of_entry(std::string_view entry, bool dictionary) {
    entry = trimmed(entry);
    if (!entry.empty() && is_quote(entry.front())) {
        const auto close = entry.find(entry.front(), 1);
        return close == std::string_view::npos ? std::string_view{} : trimmed(entry.substr(1, close - 1));
    }
    if (dictionary) entry = trimmed(entry.substr(0, entry.rfind(':')));
    return entry;
}

/// The entries between commas that stand outside quotes.
std::vector<std::string_view> entries_of(std::string_view list) {
    std::vector<std::string_view> entries;
    char quote = 0;
    std::size_t from = 0;
    for (std::size_t i = 0; i <= list.size(); ++i) {
        if (i == list.size() || (quote == 0 && list[i] == ',')) {
            entries.push_back(list.substr(from, i - from));
            from = i + 1;
        } else if (quote != 0) {
            if (list[i] == quote) quote = 0;
        } else if (is_quote(list[i])) {
            quote = list[i];
        }
    }
    return entries;
}

}  // namespace

std::vector<std::string> ids_of_list(std::string_view text) {
    text = trimmed(text);
    // A list inside a text of JSON or Python: "['a', 'b']"
    if (text.size() >= 2 && is_quote(text.front()) && text.find(text.front(), 1) == text.size() - 1)
        text = trimmed(text.substr(1, text.size() - 2));
    bool dictionary = false;
    constexpr std::string_view kOpen = "[{(", kClose = "]})";
    if (!text.empty())
        if (const auto bracket = kOpen.find(text.front()); bracket != std::string_view::npos) {
            dictionary = text.front() == '{' && text.find(':') != std::string_view::npos;
            text.remove_prefix(1);
            if (!text.empty() && text.back() == kClose[bracket]) text.remove_suffix(1);
        }
    std::vector<std::string> ids;
    for (const std::string_view entry : entries_of(text)) {
        const std::string_view id = id_of_entry(entry, dictionary);
        if (!id.empty() && id.size() <= kLongestId && id != "None" && id != "null") ids.emplace_back(id);
    }
    return ids;
}

struct RequestRules::Rule {
    std::string name;
    std::string text;  ///< of the pattern
    std::unique_ptr<RE2> pattern, within;
    std::size_t place = kPlaceNames.size();  ///< position in kPlaceNames
    std::optional<KindMask> kinds;
    std::vector<std::string> loggers;
    RequestEvent event = RequestEvent::mention;
    std::array<int, kFields> groups{};
    int line = 0;

    [[nodiscard]] std::optional<std::string> set(const RuleLine& l);
    [[nodiscard]] std::optional<std::string> set_pattern(std::unique_ptr<RE2>& out, std::string_view key, std::string_view value) const;
    [[nodiscard]] std::optional<std::string> check() const;
    [[nodiscard]] bool applies(SpanKind kind) const noexcept { return (kinds.value_or(kUsualKinds) & kind_bit(kind)) != 0; }
    [[nodiscard]] bool applies(std::string_view logger) const {
        return loggers.empty() ||
               std::any_of(loggers.begin(), loggers.end(), [&](const std::string& l) { return logger.find(l) != std::string_view::npos; });
    }
    /// What each place of the text says where the pattern matches.
    [[nodiscard]] std::vector<RequestText> find(std::string_view text) const;
};

std::optional<std::string> RequestRules::Rule::set_pattern(std::unique_ptr<RE2>& out, std::string_view key, std::string_view value) const {
    if (value.empty()) return fmt::format("a pattern is missing after \"{}\"", key);
    out = compiled(value);
    if (!out->ok()) return fmt::format("the pattern is no regular expression: {}", out->error());
    if (out->NumberOfCapturingGroups() > kMaxGroups) return fmt::format("the pattern has more than {} groups", kMaxGroups);
    return std::nullopt;
}

std::optional<std::string> RequestRules::Rule::set(const RuleLine& l) {
    if (l.key == "match") {
        text = std::string(l.value);
        return set_pattern(pattern, l.key, l.value);
    }
    if (l.key == "within") return set_pattern(within, l.key, l.value);
    if (l.key == "in") {
        const auto at = rule_word(kPlaceNames, l.value);
        if (!at) return fmt::format("unknown place \"{}\" ({})", l.value, fmt::join(kPlaceNames, ", "));
        place = *at;
        return std::nullopt;
    }
    if (l.key == "kinds") {
        std::string_view unknown;
        kinds = parse_kinds(l.value, unknown);
        if (!kinds) return fmt::format("unknown span kind \"{}\"", unknown);
        return std::nullopt;
    }
    if (l.key == "loggers") {
        loggers = ids_of_list(l.value);
        return std::nullopt;
    }
    if (l.key == "event") {
        const auto at = rule_word(kEventNames, l.value);
        if (!at) return fmt::format("unknown event \"{}\" ({})", l.value, fmt::join(kEventNames, ", "));
        event = static_cast<RequestEvent>(*at);
        return std::nullopt;
    }
    return set_rule_group(kFieldNames, groups, kMaxGroups, l);
}

std::optional<std::string> RequestRules::Rule::check() const {
    if (!pattern) return fmt::format("rule \"{}\" has no \"match\" line", name);
    if (place == kPlaceNames.size()) return fmt::format("rule \"{}\" has no \"in\" line ({})", name, fmt::join(kPlaceNames, ", "));
    if (groups[f_id] == 0) return fmt::format("rule \"{}\" has no \"id\" line", name);
    if (kinds && kPlaceNames[place] == "log") return fmt::format("rule \"{}\" reads messages, which have no kinds", name);
    if (!loggers.empty() && kPlaceNames[place] != "log") return fmt::format("rule \"{}\" reads spans, which have no loggers", name);
    return check_rule_groups(kFieldNames, groups, pattern->NumberOfCapturingGroups(), name);
}

std::vector<RequestText> RequestRules::Rule::find(std::string_view in) const {
    std::vector<RequestText> all;
    const re2::StringPiece piece(in.data(), in.size());
    if (within && !RE2::PartialMatch(piece, *within)) return all;
    std::array<re2::StringPiece, kMaxGroups + 1> found;
    for (std::size_t at = 0; at <= in.size();) {
        if (!pattern->Match(piece, at, in.size(), RE2::UNANCHORED, found.data(), pattern->NumberOfCapturingGroups() + 1)) break;
        const auto group = [&](Field f) {
            const re2::StringPiece& p = found[static_cast<std::size_t>(groups[f])];
            return groups[f] == 0 || p.data() == nullptr ? std::string_view{} : std::string_view(p.data(), p.size());
        };
        RequestText t;
        t.event = event;
        t.ids = ids_of_list(group(f_id));
        t.prompt_tokens = rule_integer(group(f_prompt_tokens));
        t.output_tokens = rule_integer(group(f_output_tokens));
        t.ttft_ns = seconds(group(f_ttft));
        t.latency_ns = seconds(group(f_latency));
        if (!t.ids.empty()) all.push_back(std::move(t));
        const auto end = static_cast<std::size_t>(found[0].data() - in.data()) + found[0].size();
        at = std::max(end, at + 1);
    }
    return all;
}

/// The rules that read one kind of text, and all of their patterns as one automaton: a text is read once however many rules there are.
struct RequestRules::RuleSet {
    std::vector<Rule> rules;
    std::unique_ptr<RE2::Set> set;
    KindMask kinds = 0;

    void compile() {
        set = std::make_unique<RE2::Set>(byte_options(), RE2::UNANCHORED);
        for (const Rule& r : rules) {
            set->Add(r.text, nullptr);
            kinds |= r.kinds.value_or(kUsualKinds);
        }
        if (rules.empty() || !set->Compile()) set.reset();
    }

    /// Positions of the rules whose pattern may match, ascending.
    [[nodiscard]] std::vector<int> candidates(std::string_view text) const {
        std::vector<int> found;
        if (rules.empty()) return found;
        RE2::Set::ErrorInfo error{RE2::Set::kNoError};
        if (set && set->Match(re2::StringPiece(text.data(), text.size()), &found, &error)) {
            std::sort(found.begin(), found.end());
            return found;
        }
        if (set && error.kind == RE2::Set::kNoError) return {};
        found.resize(rules.size());  // the automaton outgrew its memory on this text
        for (std::size_t i = 0; i < rules.size(); ++i) found[i] = static_cast<int>(i);
        return found;
    }
};

RequestRules::RequestRules()
    : ranges_(std::make_unique<RuleSet>()), args_(std::make_unique<RuleSet>()), logs_(std::make_unique<RuleSet>()) {}
RequestRules::RequestRules(RequestRules&&) noexcept = default;
RequestRules& RequestRules::operator=(RequestRules&&) noexcept = default;
RequestRules::~RequestRules() = default;

Result<RequestRules> RequestRules::load(std::string_view text, std::string_view where) {
    std::vector<Rule> all;
    for (const RuleLine& l : rule_lines(text)) {
        if (l.key == "rule") {
            if (l.value.empty()) return rule_error(where, l.number, "a rule needs a name");
            for (const Rule& r : all)
                if (r.name == l.value)
                    return rule_error(where, l.number, fmt::format("rule \"{}\" stands already in line {}", r.name, r.line));
            all.emplace_back();
            all.back().name = std::string(l.value);
            all.back().line = l.number;
            continue;
        }
        if (all.empty()) return rule_error(where, l.number, fmt::format("\"{}\" stands before the first \"rule\" line", l.key));
        if (const auto wrong = all.back().set(l)) return rule_error(where, l.number, *wrong);
    }
    RequestRules rules;
    for (Rule& r : all) {
        if (const auto wrong = r.check()) return rule_error(where, r.line, *wrong);
        const std::string_view place = kPlaceNames[r.place];
        (place == "range" ? rules.ranges_ : place == "log" ? rules.logs_ : rules.args_)->rules.push_back(std::move(r));
    }
    for (RuleSet* set : {rules.ranges_.get(), rules.args_.get(), rules.logs_.get()}) set->compile();
    return rules;
}

RequestRules RequestRules::built_in() {
    auto rules = load(embedded::kRequestRules, "resources/rules/requests.rules");
    return rules ? std::move(*rules) : RequestRules{};  // a test loads the same file and reports what is wrong
}

bool RequestRules::covers(SpanKind kind) const noexcept { return ((ranges_->kinds | args_->kinds) & kind_bit(kind)) != 0; }

bool RequestRules::may_match_span(std::string_view name) const { return !ranges_->candidates(name).empty(); }

std::optional<RequestText> RequestRules::match_first(const RuleSet& set, SpanKind kind, std::string_view text) const {
    if ((set.kinds & kind_bit(kind)) == 0) return std::nullopt;
    for (const int at : set.candidates(text)) {
        const Rule& rule = set.rules[static_cast<std::size_t>(at)];
        if (!rule.applies(kind)) continue;
        std::vector<RequestText> found = rule.find(text);
        if (found.empty()) continue;
        RequestText first = std::move(found.front());
        for (std::size_t i = 1; i < found.size(); ++i)
            for (std::string& id : found[i].ids) first.ids.push_back(std::move(id));
        std::unordered_set<std::string> seen;
        std::erase_if(first.ids, [&](const std::string& id) { return !seen.insert(id).second; });
        return first;
    }
    return std::nullopt;
}

std::optional<RequestText> RequestRules::match_span(SpanKind kind, std::string_view name) const {
    return match_first(*ranges_, kind, name);
}

std::optional<RequestText> RequestRules::match_args(SpanKind kind, std::string_view args) const { return match_first(*args_, kind, args); }

std::vector<RequestText> RequestRules::match_log(std::string_view logger, std::string_view message) const {
    std::vector<RequestText> all;
    std::unordered_set<std::string> known;
    for (const int at : logs_->candidates(message)) {
        const Rule& rule = logs_->rules[static_cast<std::size_t>(at)];
        if (!rule.applies(logger)) continue;
        for (RequestText& text : rule.find(message)) {
            if (text.event == RequestEvent::mention && !text.prompt_tokens && !text.output_tokens)
                std::erase_if(text.ids, [&](const std::string& id) { return known.contains(id); });
            if (text.ids.empty()) continue;
            known.insert(text.ids.begin(), text.ids.end());
            all.push_back(std::move(text));
        }
    }
    return all;
}

}  // namespace faultline
