#include "importers/known_formats.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/capture_schema.h"

namespace faultline {

namespace {

constexpr const char* kWhatToGive = "Give a PyTorch profiler trace (.json or .json.gz)";

Error unusable(std::string sentence, std::string hint) { return {ErrorCode::unusable_input, std::move(sentence), std::move(hint)}; }

bool has(std::string_view head, std::string_view text) noexcept { return head.find(text) != std::string_view::npos; }

/// Big-endian number of `bytes` bytes at `at` of a file's header.
std::uint32_t big_endian(std::string_view head, std::size_t at) noexcept {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(head[at + i]);
    return value;
}

/// SQLite files by their application id (offset 68, sqlite.org/fileformat.html §1.2) and by the tables in their schema.
std::optional<Error> sqlite_format(std::string_view head, std::string_view path) {
    if (!head.starts_with(std::string_view("SQLite format 3\0", 16)) || head.size() < 100) return std::nullopt;
    if (big_endian(head, 68) == static_cast<std::uint32_t>(kApplicationId))
        return unusable(fmt::format("{} is a Faultline capture already", path), "Open it, or import its sources again");
    if (has(head, "CUPTI_ACTIVITY_KIND") || has(head, "TARGET_INFO_") || has(head, "NVTX_EVENTS"))
        return unusable(fmt::format("{} is an Nsight Systems database, which this version does not read", path),
                        "Give a PyTorch profiler trace of the run instead (.json or .json.gz)");
    return unusable(fmt::format("{} is a database of another program", path), kWhatToGive);
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
    for (const Magic& magic : kMagics)
        if (head.starts_with(magic.bytes)) return unusable(fmt::format("{} is {}, not a capture", path, magic.what), kWhatToGive);
    if (is_perfetto(head, name))
        return unusable(fmt::format("{} is a Perfetto trace, which this version does not read", path),
                        "Give the JSON trace that it was made from");
    return json_format(head, path);
}

Error unknown_format(std::string_view head, std::string_view path) {
    if (is_text(head)) return unusable(fmt::format("{} is text of a kind that is not known", path), kWhatToGive);
    return unusable(fmt::format("{} is binary data of a kind that is not known", path), kWhatToGive);
}

}  // namespace faultline
