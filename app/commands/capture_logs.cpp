#include "app/commands/capture_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/commands/analysed_capture.h"
#include "core/request_projection.h"

namespace faultline {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownText = 160;  ///< of a message, on a terminal; elsewhere all of it stands there

std::string cut_text(std::string_view text) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto more = std::count(text.begin() + static_cast<std::ptrdiff_t>(end), text.end(), '\n');
    std::string line(text.substr(0, end));
    if (line.size() > kShownText) {
        std::size_t at = kShownText;
        while (at > 0 && (static_cast<unsigned char>(line[at]) & 0xc0) == 0x80) --at;  // not inside a character
        line.resize(at);
        line += " …";
    }
    if (more > 0) line += fmt::format(" (and {} more {})", more, more == 1 ? "line" : "lines");
    return line;
}

std::string method_text(const ShownLine& shown) {
    if (shown.method == AlignMethod::none) return "-";
    std::string text(align_method_name(shown.method));
    if (shown.distance_ns.value_or(0) > 0) text += fmt::format(", {} away", duration_text(*shown.distance_ns));
    return text;
}

}  // namespace

Result<CaptureLogs> read_capture_logs(const CaptureReader& capture) {
    CaptureLogs logs;
    std::vector<Step> stalls;
    if (auto ok = take(capture.logs(), logs.lines); !ok) return tl::unexpected<Error>(ok.error());
    if (auto ok = take(capture.requests(), logs.requests); !ok) return tl::unexpected<Error>(ok.error());
    if (auto ok = take(capture.mentions(), logs.mentions); !ok) return tl::unexpected<Error>(ok.error());
    if (auto ok = take(capture.steps(), logs.steps); !ok) return tl::unexpected<Error>(ok.error());
    if (auto ok = take(capture.stalls(), stalls); !ok) return tl::unexpected<Error>(ok.error());
    std::move(stalls.begin(), stalls.end(), std::back_inserter(logs.steps));
    logs.line_requests = requests_of_lines(logs.lines, logs.mentions, logs.requests);
    logs.alignment = alignment_options(capture.sources());
    return logs;
}

std::vector<ShownLine> all_lines(const CaptureLogs& logs) {
    std::vector<const LogLine*> written;  // in the order of their sources
    for (const LogLine& line : logs.lines) written.push_back(&line);
    std::sort(written.begin(), written.end(), [](const LogLine* a, const LogLine* b) { return a->id < b->id; });
    std::vector<std::pair<TimeNs, const LogLine*>> placed;
    constexpr TimeNs kNever = std::numeric_limits<TimeNs>::min();
    TimeNs last = kNever;
    SourceId source{};
    for (auto at = written.begin(); at != written.end(); ++at) {
        if ((*at)->source != source) last = kNever;
        source = (*at)->source;
        last = (*at)->time.value_or(last);
        if (last == kNever)  // the first lines of a file: before the first that has a time
            for (auto next = at; next != written.end() && (*next)->source == source && last == kNever; ++next)
                last = (*next)->time.value_or(kNever);
        placed.emplace_back(last, *at);
    }
    std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<ShownLine> all;
    all.reserve(placed.size());
    for (const auto& [time, line] : placed) all.push_back({line, line->step, line->method, line->distance_ns});
    return all;
}

std::vector<ShownLine> lines_of(const CaptureLogs& logs, const Step& step, std::optional<std::size_t> request) {
    std::vector<ShownLine> all;
    for (const AlignedLine& a : lines_of_step(logs.lines, logs.line_requests, step, logs.requests, logs.alignment, request)) {
        const LogLine& line = logs.lines[a.line];
        all.push_back({&line, step.id, a.method, line.time ? std::optional(a.distance_ns) : std::nullopt});
    }
    return all;
}

std::vector<ShownLine> lines_of(const CaptureLogs& logs, std::size_t request) {
    const bool has_steps = !logs.requests[request].steps.empty();
    std::vector<ShownLine> all;
    for (const AlignedLine& a : lines_of_request(logs.lines, logs.line_requests, logs.steps, logs.requests, request, logs.alignment)) {
        const LogLine& line = logs.lines[a.line];
        all.push_back({&line, line.step, a.method, line.time && has_steps ? std::optional(a.distance_ns) : std::nullopt});
    }
    return all;
}

Result<const Step*> step_by_id(const CaptureLogs& logs, std::int64_t id) {
    const auto found = std::find_if(logs.steps.begin(), logs.steps.end(), [&](const Step& s) { return index_of(s.id) == id; });
    if (found != logs.steps.end()) return &*found;
    return fail(ErrorCode::wrong_usage, fmt::format("the capture has no step {}", id),
                "`faultline steps CAPTURE` lists those it has");
}

Result<std::optional<std::size_t>> asked_request(const CaptureLogs& logs, const std::optional<std::string>& id) {
    if (!id) return std::optional<std::size_t>{};
    if (id->find_first_not_of(" \t") == std::string::npos)
        return fail(ErrorCode::wrong_usage, "--request needs the id of a request", "`faultline requests CAPTURE` lists them");
    const Result<std::size_t> found = request_by_id(*id, logs.requests, logs.mentions);
    if (!found) return tl::unexpected<Error>(found.error());
    return std::optional<std::size_t>(*found);
}

Json json_of(const std::vector<ShownLine>& lines) {
    Json rows = Json::array();
    const auto text_or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
    for (const ShownLine& shown : lines) {
        const LogLine& line = *shown.line;
        rows.push_back(Json{{"id", line.id},
                            {"time_ns", json_or_null(line.time)},
                            {"level", text_or_null(line.level)},
                            {"logger", text_or_null(line.logger)},
                            {"request", text_or_null(line.request)},
                            {"text", line.text},
                            {"method", align_method_name(shown.method)},
                            {"distance_ns", json_or_null(shown.distance_ns)},
                            {"step", shown.step ? Json(index_of(*shown.step)) : Json(nullptr)},
                            {"rank", json_or_null(line.rank)}});
    }
    return rows;
}

std::string table_of(const std::vector<ShownLine>& lines, MessageText text, std::size_t indent) {
    std::vector<std::vector<std::string>> rows{{"time", "level", "step", "belongs by", "request", "text"}};
    for (const ShownLine& shown : lines)
        rows.push_back({shown.line->time ? time_text(*shown.line->time) : "-", shown.line->level.empty() ? "-" : shown.line->level,
                        shown.step ? fmt::format("{}", index_of(*shown.step)) : "-", method_text(shown),
                        shown.line->request.empty() ? "-" : shown.line->request, text == MessageText::cut ? cut_text(shown.line->text) : shown.line->text});
    std::string table = aligned_table(rows, {true, false, true});
    if (indent == 0) return table;
    std::string out;
    for (std::size_t at = 0; at < table.size();) {
        const std::size_t end = table.find('\n', at) + 1;
        out += std::string(indent, ' ') + table.substr(at, end - at);
        at = end;
    }
    return out;
}

}  // namespace faultline
