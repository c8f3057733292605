// bench_analysis [--json] [CAPTURE…]: the numeric analysis of captures; without one, of a made-up service of 2,500 steps.
#include <fmt/format.h>
#include <stdlib.h>

#include <cstring>
#include <ctime>
#include <filesystem>

#include "core/analyse_capture.h"
#include "core/candidates.h"
#include "core/device_busy.h"
#include "core/reference_steps.h"
#include "core/roofline.h"
#include "core/span_index.h"
#include "core/step_parts.h"
#include "core/step_profile.h"
#include "core/structure.h"
#include "importers/import_capture.h"
#include "tests/bench/bench_report.h"
#include "tests/support/planted_service.h"

using namespace faultline;
using namespace faultline::bench;

namespace {

constexpr int kSteps = 2'500, kLayers = 24;
constexpr double kGoal = 20;             ///< seconds for all of it, BUDGETS.md
constexpr std::size_t kCandidates = 20;  ///< steps that candidates are looked for in

/// CPU seconds of the process so far.
double cpu_now() {
    std::timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

template <class Work>
double cpu_seconds(Work work) {
    const double start = cpu_now();
    work();
    return cpu_now() - start;
}

/// A capture of a service with slow, stalled and wrong steps in it.
Result<std::string> make_capture(const std::string& folder) {
    test::ServiceOptions options;
    options.steps = kSteps;
    options.layers = kLayers;
    for (int i = 50; i < kSteps; i += 100)
        options.planted.push_back({i % 200 == 50 ? test::Plant::host_stall : test::Plant::slow_kernels, i});
    test::PlantedService service = test::make_service(options);
    if (!test::write_service(service, folder)) return fail(ErrorCode::unwritable_output, "the trace could not be written");
    ImportRequest request;
    request.inputs = service.trace_paths;
    request.logs = {service.log_path};
    request.time_zone = "UTC";
    request.capture = folder + "/service.faultline";
    const StepGrammar grammar = StepGrammar::built_in();
    const LayerRules layers = LayerRules::built_in();
    const RequestRules requests = RequestRules::built_in();
    const Result<ImportSummary> done = import_capture(request, {grammar, layers, requests}, {});
    if (!done) return tl::unexpected<Error>(done.error());
    return request.capture;
}

Result<void> bench_capture(const std::string& path, bool made, Report& report) {
    const Result<std::unique_ptr<CaptureReader>> capture = CaptureReader::open(path);
    if (!capture) return tl::unexpected<Error>(capture.error());
    const Result<std::vector<Step>> steps = (*capture)->steps();
    if (!steps) return tl::unexpected<Error>(steps.error());
    const Result<std::shared_ptr<const SpanIndex>> index = SpanIndex::build(**capture);
    if (!index) return tl::unexpected<Error>(index.error());
    const Result<std::vector<Request>> requests = (*capture)->requests();
    if (!requests) return tl::unexpected<Error>(requests.error());
    const LayerRules layers = LayerRules::built_in();
    const std::string of = made ? fmt::format("{} steps, {} spans", steps->size(), (*index)->span_count())
                                : fmt::format("{}: {} steps, {} spans", std::filesystem::path(path).filename().string(), steps->size(),
                                              (*index)->span_count());
    const auto add = [&](const char* what, double seconds, std::optional<double> goal = {}) {
        report.add({fmt::format("{}, {}", what, of), seconds, "s cpu", std::nullopt, goal});
    };
    CaptureAnalysis analysis;
    add("analysis", cpu_seconds([&] {
            if (auto done = analyse_capture(**capture, **index, layers, *requests)) analysis = std::move(*done);
        }),
        made ? std::optional(kGoal) : std::nullopt);
    add("  rooflines", cpu_seconds([&] { (void)fit_rooflines(*steps, {}); }));
    add("  device union", cpu_seconds([&] { (void)device_busy(**index, 20'000, {}); }));
    Result<CountedSteps> counted = CountedSteps{};
    add("  parts of steps", cpu_seconds([&] { counted = count_parts(**capture, **index, layers, *steps); }));
    if (!counted) return tl::unexpected<Error>(counted.error());
    const std::vector<std::uint8_t> cold(steps->size(), 0);
    add("  structure", cpu_seconds([&] { (void)judge_structure(**capture, *steps, counted->steps, cold); }));
    add("profiles of all steps", cpu_seconds([&] { (void)profile_steps(**capture, layers, *steps); }));
    const std::size_t count = std::min(kCandidates, steps->size());
    if (count == 0) return {};
    const double candidates = cpu_seconds([&] {
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t at = i * steps->size() / count;
            (void)find_candidates(**capture, layers, *steps, analysis.verdicts, (*steps)[at].id);
        }
    });
    add("candidates of one step", candidates / static_cast<double>(count));
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    bool json = false;
    std::vector<std::string> captures;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--json") == 0)
            json = true;
        else
            captures.emplace_back(argv[i]);
    }
    Report report("bench_analysis", json);
    Result<void> done;
    if (captures.empty()) {
        char folder[] = "/tmp/bench_analysis.XXXXXX";
        if (!mkdtemp(folder)) return 4;
        const Result<std::string> made = make_capture(folder);
        done = made ? bench_capture(*made, true, report) : tl::unexpected<Error>(made.error());
        std::error_code ignored;
        std::filesystem::remove_all(folder, ignored);
    }
    for (const std::string& path : captures)
        if (done) done = bench_capture(path, false, report);
    if (!done) {
        fmt::print(stderr, "bench_analysis: {}\n", done.error().sentence);
        return 3;
    }
    report.print();
    return 0;
}
