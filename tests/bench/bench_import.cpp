// bench_import [--json] [--runs N] FILE…: the import of a trace against the least that reading the same file costs (BUDGETS.md): the
// windowed parse of JSON, or the read of the needed columns of an Nsight Systems database. Each run is a process of its own, so that its
// CPU time and its peak memory are its own; the two alternate; medians are printed.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "core/layer_rules.h"
#include "core/step_grammar.h"
#include "importers/import_capture.h"
#include "tests/bench/bench_report.h"
#include "tests/bench/column_read.h"
#include "tests/bench/windowed_parse.h"

using namespace faultline;
using namespace faultline::bench;

namespace {

struct Cost {
    double wall = 0, cpu = 0, megabytes = 0;
    std::uint64_t result = 0;
};

double seconds(const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6; }

/// Runs `work` in a child and measures that; the child gives back a number.
std::optional<Cost> measured(const std::function<std::optional<std::uint64_t>()>& work) {
    int pipe_ends[2];
    if (::pipe(pipe_ends) != 0) return std::nullopt;
    const double start = now();
    const pid_t child = ::fork();
    if (child == 0) {
        const std::optional<std::uint64_t> result = work();
        if (result && ::write(pipe_ends[1], &*result, sizeof *result) != sizeof *result) std::_Exit(1);
        std::_Exit(result ? 0 : 1);
    }
    int status = 0;
    rusage usage{};
    ::wait4(child, &status, 0, &usage);
    Cost cost{now() - start, seconds(usage.ru_utime) + seconds(usage.ru_stime), static_cast<double>(usage.ru_maxrss) / 1024, 0};
    const bool given =
        WIFEXITED(status) && WEXITSTATUS(status) == 0 && ::read(pipe_ends[0], &cost.result, sizeof cost.result) == sizeof cost.result;
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
    return given ? std::optional(cost) : std::nullopt;
}

bool is_database(const std::string& file) { return file.ends_with(".sqlite"); }

std::optional<std::uint64_t> parse_once(const std::string& file) {
    const auto events = is_database(file) ? column_read(file) : windowed_parse(file);
    if (!events) fmt::print(stderr, "bench_import: {}.\n", events.error().sentence);
    return events ? std::optional(*events) : std::nullopt;
}

std::optional<std::uint64_t> import_once(const std::string& file, const std::string& capture) {
    const StepGrammar grammar = StepGrammar::built_in();
    const LayerRules layers = LayerRules::built_in();
    ImportRequest request;
    request.inputs = {file};
    request.capture = capture;
    const auto summary = import_capture(request, {grammar, layers, RequestRules::built_in()}, {});
    if (!summary) fmt::print(stderr, "bench_import: {}.\n", summary.error().sentence);
    return summary ? std::optional(summary->counts.spans) : std::nullopt;
}

double median_of(const std::vector<Cost>& costs, double Cost::*part) {
    std::vector<double> values;
    for (const Cost& cost : costs) values.push_back(cost.*part);
    return median(std::move(values));
}

/// The first run of each is a warm-up and not counted.
bool bench_file(const std::string& file, int runs, Report& report) {
    const std::string capture = (std::filesystem::temp_directory_path() / fmt::format("bench-{}.faultline", ::getpid())).string();
    std::vector<Cost> parses, imports;
    for (int run = 0; run <= runs; ++run) {
        const auto parse = measured([&] { return parse_once(file); });
        const auto import = parse ? measured([&] { return import_once(file, capture); }) : std::nullopt;
        if (!import) return false;
        if (run == 0) continue;
        parses.push_back(*parse);
        imports.push_back(*import);
    }
    std::error_code ignored;
    const double size = static_cast<double>(std::filesystem::file_size(capture, ignored));
    std::filesystem::remove(capture, ignored);
    const std::string name = std::filesystem::path(file).filename().string();
    const bool large = std::filesystem::file_size(file, ignored) > (is_database(file) ? 100'000'000 : 1'000'000'000);
    const double ratio = is_database(file) ? 3.5 : large ? 3.2 : 3.0;
    report.add({name + ": import, CPU time", median_of(imports, &Cost::cpu), "s", median_of(parses, &Cost::cpu), ratio});
    report.add({name + ": import, wall time", median_of(imports, &Cost::wall), "s", median_of(parses, &Cost::wall), std::nullopt});
    report.add({name + ": peak memory", median_of(imports, &Cost::megabytes), "MB", std::nullopt, large ? 1000.0 : 400.0});
    report.add({name + ": events of the file", static_cast<double>(parses.front().result), "events", std::nullopt, std::nullopt});
    report.add({name + ": spans", static_cast<double>(imports.front().result), "spans", std::nullopt, std::nullopt});
    report.add({name + ": size of the capture", size / static_cast<double>(std::max<std::uint64_t>(imports.front().result, 1)), "B/span",
                std::nullopt, 60.0});
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    bool json = false;
    int runs = 5;
    std::vector<std::string> files;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "--json")
            json = true;
        else if (argument == "--runs" && i + 1 < argc)
            runs = std::max(1, std::atoi(argv[++i]));
        else
            files.push_back(argument);
    }
    if (files.empty()) {
        fmt::print(stderr, "bench_import: name at least one trace. Usage: bench_import [--json] [--runs N] FILE…\n");
        return 2;
    }
    Report report("bench_import", json);
    for (const std::string& file : files) {
        if (!bench_file(file, runs, report)) return 3;
    }
    report.print();
    return 0;
}
