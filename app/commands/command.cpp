#include "app/commands/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace faultline {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWidestAligned = 60;  // a name of 500 characters pushes its own line out, not all others

/// Columns that a text takes on a terminal; multi-byte characters count as one.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// With one full stop at its end.
std::string sentence_of(std::string text) {
    while (!text.empty() && (text.back() == '.' || text.back() == ' ' || text.back() == '\n')) text.pop_back();
    text.push_back('.');
    return text;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
    const std::string space(width > width_of(text) ? width - width_of(text) : 0, ' ');
    return right ? space + text : text + space;
}

}  // namespace

int report_failure(const CommandIo& io, const Error& error) {
    fmt::print(io.err, "faultline: {}", printable(one_line(sentence_of(error.sentence))));
    if (!error.hint.empty()) fmt::print(io.err, " {}", printable(one_line(sentence_of(error.hint))));
    fmt::print(io.err, "\n");
    return exit_status(error.code);
}

void print(const CommandIo& io, std::string_view text) { std::fwrite(text.data(), 1, text.size(), io.out); }

void print_json(const CommandIo& io, const Json& json) {
    print(io, json.dump(2, ' ', false, Json::error_handler_t::replace));
    print(io, "\n");
}

int finish_output(const CommandIo& io) {
    if (std::fflush(io.out) == 0 && std::ferror(io.out) == 0) return 0;
    return report_failure(
        io, {ErrorCode::unwritable_output, "the answer cannot be written to standard output", "Check the disk and where the output goes"});
}

Json json_or_null(const std::optional<std::int64_t>& value) { return value ? Json(*value) : Json(nullptr); }

Json json_of(const std::vector<HealthFinding>& health) {
    Json rows = Json::array();
    for (const HealthFinding& finding : health)
        rows.push_back(Json{{"code", finding.code}, {"severity", severity_name(finding.severity)}, {"sentence", finding.sentence}});
    return rows;
}

Json json_of(const LedgerTotals& totals) {
    return {{"read", totals.read}, {"repaired", totals.repaired}, {"dropped", totals.dropped}, {"metadata", totals.metadata}};
}

std::string_view severity_name(Severity severity) {
    switch (severity) {
        case Severity::info: return "info";
        case Severity::warning: return "warning";
        case Severity::error: break;
    }
    return "error";
}

std::string_view outcome_name(LedgerOutcome outcome) {
    switch (outcome) {
        case LedgerOutcome::repaired: return "repaired";
        case LedgerOutcome::dropped: return "dropped";
        case LedgerOutcome::note: break;
    }
    return "note";
}

std::string grouped(std::uint64_t number) {
    const std::string digits = std::to_string(number);
    std::string text;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
        text += digits[i];
    }
    return text;
}

std::string duration_text(TimeNs duration) {
    const double ns = static_cast<double>(duration);
    if (duration >= 1'000'000'000) return fmt::format("{:.3f} s", ns / 1e9);
    if (duration >= 1'000'000) return fmt::format("{:.3f} ms", ns / 1e6);
    if (duration >= 1'000) return fmt::format("{:.3f} us", ns / 1e3);
    return fmt::format("{} ns", duration);
}

std::string printable(std::string_view text) {
    std::string shown;
    shown.reserve(text.size());
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte < 0x20 && c != '\n') || byte == 0x7f)
            shown += fmt::format("\\x{:02x}", byte);
        else
            shown += c;
    }
    return shown;
}

std::string one_line(std::string text) {
    for (char& c : text)
        if (c == '\n' || c == '\r' || c == '\t') c = ' ';
    return text;
}

void print_text(const CommandIo& io, std::string_view text) { print(io, printable(text)); }

std::string check_whole_number(const std::string& text) {
    const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    return digits && text.size() <= 18 ? std::string() : fmt::format("must be a whole number, not \"{}\"", text);
}

std::string time_text(TimeNs time) { return fmt::format("{:.6f} s", static_cast<double>(time) / 1e9); }

std::string check_signed_number(const std::string& text) {
    const std::string digits = text.starts_with('-') || text.starts_with('+') ? text.substr(1) : text;
    return check_whole_number(digits).empty() ? std::string() : fmt::format("must be a whole number of nanoseconds, not \"{}\"", text);
}

std::string aligned_table(const std::vector<std::vector<std::string>>& given, const std::vector<bool>& right) {
    std::vector<std::vector<std::string>> rows = given;
    for (auto& row : rows)
        for (std::string& text : row) text = printable(one_line(std::move(text)));
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], std::min(width_of(row[i]), kWidestAligned));
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) line += (i ? "  " : "") + padded(row[i], widths[i], i < right.size() && right[i]);
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

}  // namespace faultline
