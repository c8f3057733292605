#include "importers/known_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/capture_schema.h"
#include "importers/database_kind.h"

namespace faultline {

namespace {

constexpr const char* kWhatToGive =
    "Give a PyTorch profiler trace (.json or .json.gz), an Nsight Systems database (.sqlite) or a service log";

Error unusable(std::string sentence, std::string hint) { return {ErrorCode::unusable_input, std::move(sentence), std::move(hint)}; }

bool has(std::string_view head, std::string_view text) noexcept { return head.find(text) != std::string_view::npos; }

/// Big-endian number of `bytes` bytes at `at` of a file's header.
std::uint32_t big_endian(std::string_view head, std::size_t at) noexcept {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(head[at + i]);
    return value;
}

/// SQLite files by their application id (offset 68, sqlite.org/fileformat.html §1.2) and by the tables in their schema. One whose tables
/// do not show in its first bytes is left to the importer, which opens it.
std::optional<Error> sqlite_format(std::string_view head, std::string_view path) {
    if (!is_database(head)) return std::nullopt;
    if (big_endian(head, 68) == static_cast<std::uint32_t>(kApplicationId))
        return unusable(fmt::format("{} is a Faultline capture already", path), "Open it, or import its sources again");
    const std::vector<std::string> tables = tables_in_head(head);
    const DatabaseKind kind = database_kind(tables);
    if (kind == DatabaseKind::nsight) return std::nullopt;
    const bool certain = kind != DatabaseKind::empty && kind != DatabaseKind::other;
    if (!certain && head.size() < database_bytes(head)) return std::nullopt;  // tables may be defined further on
    return refused_database(kind == DatabaseKind::other && holds_no_rows(head) ? DatabaseKind::empty : kind, tables, path);
}

std::string without_suffix(std::string_view path, std::string_view suffix) {
    return std::string(path.ends_with(suffix) ? path.substr(0, path.size() - suffix.size()) : path);
}

/// Reports of Nsight Systems begin with the name of the first tool that wrote them.
bool is_nsys_report(std::string_view head, std::string_view name) noexcept {
    return has(head.substr(0, 256), "NVIDIA Tegra Pro") || name.ends_with(".nsys-rep") || name.ends_with(".qdrep");
}

std::optional<Error> json_format(std::string_view head, std::string_view path) {
    if (has(head, "\"traceEvents\"")) return std::nullopt;
    if (has(head, "speedscope.app/file-format-schema") || (has(head, "\"profiles\"") && has(head, "\"shared\"") && has(head, "\"frames\"")))
        return unusable(fmt::format("{} is a speedscope profile, which has samples and no trace events", path), kWhatToGive);
    if (!has(head, "\"ph\"") && has(head, "\"timestamps\"") && (has(head, "\"ns\"") || has(head, "\"model_name\"")))
        return unusable(fmt::format("{} is a request trace of Triton Inference Server, not a Chrome trace", path), kWhatToGive);
    if (has(head, "\"rocprofiler-sdk"))
        return unusable(fmt::format("{} is a result file of rocprofv3, not a Chrome trace", path),
                        "Give a PyTorch profiler trace, or export Chrome traces from it");
    return std::nullopt;
}

struct Magic {
    std::string_view bytes;
    std::string_view what;
};

constexpr Magic kMagics[] = {{"\x89PNG", "a PNG picture"},
                             {"\xFF\xD8\xFF", "a JPEG picture"},
                             {"PK\x03\x04", "a ZIP archive"},
                             {"\x7F"
                              "ELF",
                              "a program"},
                             {"%PDF", "a PDF document"},
                             {"\x28\xB5\x2F\xFD", "compressed with Zstandard"},
                             {"\xFD"
                              "7zXZ",
                              "compressed with xz"},
                             {"BZh", "compressed with bzip2"},
                             {"<svg", "an SVG picture"},
                             {"<?xml", "an XML document"},
                             {"<!DOCTYPE", "a web page"},
                             {"<html", "a web page"},
                             {"\x1f\x8b", "compressed twice with gzip"}};

bool is_text(std::string_view head) noexcept {
    const std::string_view start = head.substr(0, 4096);
    return std::none_of(start.begin(), start.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\x1b' && c != '\f';
    });
}

std::string_view first_line(std::string_view head) noexcept { return head.substr(0, head.find('\n')); }

/// `MainThread;run (worker.py:12);step (engine.py:40) 17`: frames from the outside in, then how many samples saw them.
bool is_collapsed_stack(std::string_view line) noexcept {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t space = line.rfind(' ');
    if (space == std::string_view::npos || space + 1 == line.size()) return false;
    const std::string_view count = line.substr(space + 1);
    if (count.find_first_not_of("0123456789") != std::string_view::npos) return false;
    const std::string_view frames = line.substr(0, space);
    constexpr std::ptrdiff_t kFrames = 2;
    return std::count(frames.begin(), frames.end(), ';') >= kFrames && frames.ends_with(')') && has(frames, ":") && has(frames, ";");
}

/// `Process 4711: python` and the version of Python after it, below a line of the user's own at most.
bool is_stack_dump(std::string_view head) noexcept {
    std::string_view rest = head.substr(0, 1024);
    if (!rest.starts_with("Process ")) {
        const std::size_t line = rest.find('\n');
        rest = line == std::string_view::npos ? std::string_view() : rest.substr(line + 1);
    }
    const std::size_t version = rest.find("\nPython v");
    return rest.starts_with("Process ") && version != std::string_view::npos && first_line(rest).size() == version;
}

/// Texts that are no service logs, though they are lines with times or names in them.
std::optional<Error> text_format(std::string_view head, std::string_view path) {
    const std::string_view begin = head.substr(0, 8192);
    if ((has(begin, "Existing SQLite export found") && has(begin, ".nsys-rep")) || (has(begin, " ** ") && has(begin, "(cuda_gpu_")) ||
        (has(begin, "Time (%)") && has(begin, "Total Time (ns)") && has(begin, "Instances")))
        return unusable(fmt::format("{} is a table of nsys stats, which holds sums and no trace", path),
                        "Give the database that it was made from (.sqlite)");
    if (is_stack_dump(head))
        return unusable(fmt::format("{} is a stack dump of py-spy, which this version does not read", path), kWhatToGive);
    if (is_collapsed_stack(first_line(head)))
        return unusable(fmt::format("{} is a collapsed stack profile (py-spy --format raw): sums of samples without times, which this "
                                    "version does not read",
                                    path),
                        kWhatToGive);
    return std::nullopt;
}

/// A Perfetto trace is a sequence of packets: field 1, length-delimited, which is a line feed.
bool is_perfetto(std::string_view head, std::string_view name) noexcept {
    if (name.ends_with(".pftrace") || name.ends_with(".perfetto-trace")) return true;
    const std::size_t first = head.find_first_not_of(" \t\r\n");
    return head.front() == '\n' && first != std::string_view::npos && head[first] != '{' && head[first] != '[' && !is_text(head);
}

}  // namespace

std::optional<Error> other_format(std::string_view head, std::string_view name, std::string_view path) {
    if (head.empty()) return unusable(fmt::format("{} is empty", path), "Let the profiler finish writing, or give another file");
    if (auto database = sqlite_format(head, path)) return database;
    if (is_nsys_report(head, name)) {
        const std::string stem = without_suffix(without_suffix(path, ".nsys-rep"), ".qdrep");
        return unusable(fmt::format("{} is an Nsight Systems report, which only Nsight Systems can read", path),
                        fmt::format("Export it first: nsys export --type sqlite -o {}.sqlite {}", stem, path));
    }
    if (has(head.substr(0, 2048), "<svg"))
        return unusable(fmt::format("{} is {}, not a capture", path,
                                    has(head.substr(0, 8192), "lame graph") || has(head.substr(0, 8192), "lame Graph")
                                        ? "a picture of a flame graph (SVG)"
                                        : "an SVG picture"),
                        kWhatToGive);
    for (const Magic& magic : kMagics)
        if (head.starts_with(magic.bytes)) return unusable(fmt::format("{} is {}, not a capture", path, magic.what), kWhatToGive);
    if (is_perfetto(head, name))
        return unusable(fmt::format("{} is a Perfetto trace, which this version does not read", path),
                        "Give the JSON trace that it was made from");
    if (auto json = json_format(head, path)) return json;
    return text_format(head, path);
}

Error unknown_format(std::string_view head, std::string_view path) {
    if (is_text(head)) return unusable(fmt::format("{} is text of a kind that is not known", path), kWhatToGive);
    return unusable(fmt::format("{} is binary data of a kind that is not known", path), kWhatToGive);
}

}  // namespace faultline
