#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands/analysed_capture.h"
#include "app/commands/command.h"
#include "core/analyse_capture.h"
#include "core/device_busy.h"
#include "core/span_index.h"

namespace faultline {

namespace {

using Json = nlohmann::ordered_json;

struct BubblesOptions {
    std::string capture;
    std::string step;
    bool json = false;
};

constexpr std::size_t kListed = 50;  ///< in the text; the JSON answer holds all

std::int64_t ordinal_of(const CaptureReader& capture, DeviceId id) {
    const Device* const device = capture.device(id);
    return device ? device->ordinal : static_cast<std::int64_t>(index_of(id));
}

std::optional<std::int64_t> rank_of(const CaptureReader& capture, DeviceId id) {
    const Device* const device = capture.device(id);
    const Source* const source = device ? capture.source(device->source) : nullptr;
    return source ? source->rank : std::nullopt;
}

/// `0`, or `0 of rank 1`.
std::string device_text(const CaptureReader& capture, DeviceId id) {
    const std::optional<std::int64_t> rank = rank_of(capture, id);
    return rank ? fmt::format("{} of rank {}", ordinal_of(capture, id), *rank) : fmt::format("{}", ordinal_of(capture, id));
}

Json json_of(const CaptureReader& capture, const std::vector<Bubble>& bubbles) {
    Json rows = Json::array();
    for (const Bubble& b : bubbles)
        rows.push_back(Json{{"device", ordinal_of(capture, b.device)},
                            {"start_ns", b.start},
                            {"duration_ns", b.duration},
                            {"step", b.step ? Json(index_of(*b.step)) : Json(nullptr)},
                            {"host_span", b.host_span.valid() ? Json(b.host_span.value) : Json(nullptr)},
                            {"stack", json_or_null(b.stack)},
                            {"cause", bubble_cause_name(b.cause)},
                            {"id", b.id},
                            {"rank", json_or_null(rank_of(capture, b.device))}});
    return rows;
}

std::string span_name(const CaptureReader& capture, SpanId span) {
    if (!span.valid()) return "-";
    const Result<std::int64_t> name = capture.value(span, Column::name);
    return name ? one_line(std::string(capture.name(NameId{static_cast<std::uint32_t>(*name)}))) : "-";
}

/// Sums by cause, and of the whole.
std::string summary(const CaptureReader& capture, const std::vector<Bubble>& bubbles) {
    struct Sum {
        std::int64_t count = 0;
        TimeNs total = 0;
    };
    std::map<DeviceId, std::array<Sum, 4>> sums;
    for (const Bubble& b : bubbles) {
        Sum& sum = sums[b.device][static_cast<std::size_t>(b.cause)];
        ++sum.count;
        sum.total += b.duration;
    }
    std::vector<std::vector<std::string>> cells{{"device", "cause", "bubbles", "idle in all"}};
    for (const auto& [device, causes] : sums)
        for (const BubbleCause cause : {BubbleCause::cpu, BubbleCause::sync, BubbleCause::communication, BubbleCause::unknown}) {
            const Sum& sum = causes[static_cast<std::size_t>(cause)];
            if (sum.count > 0)
                cells.push_back({device_text(capture, device), std::string(bubble_cause_name(cause)),
                                 grouped(static_cast<std::uint64_t>(sum.count)), duration_text(sum.total)});
        }
    return aligned_table(cells, {true, false, true, true});
}

/// The shortest idle stretch that counts, as the analysis used it.
TimeNs cut_off_of(const AnalysedCapture& capture) {
    const Json parameters = Json::parse(capture.parameters, nullptr, false);
    if (!parameters.is_object()) return AnalysisOptions{}.bubble_least_ns;
    const auto found = parameters.find("bubble_least_ns");
    return found != parameters.end() && found->is_number_integer() ? found->get<TimeNs>() : AnalysisOptions{}.bubble_least_ns;
}

/// How long the devices were idle in stretches below the cut-off; inside the times of `step` where there is one.
Result<std::string> shorter_text(const AnalysedCapture& capture, const Step* step, std::stop_token stop) {
    const TimeNs least = cut_off_of(capture);
    const auto index = SpanIndex::build(*capture.reader, std::move(stop));
    if (!index) return tl::unexpected<Error>(index.error());
    std::size_t count = 0;
    TimeNs total = 0;
    for (const DeviceBusy& device : device_busy(**index, 1, {}))
        for (const DeviceGap& gap : device.gaps) {
            if (gap.duration() >= least || (step && (gap.start < step->start || gap.end > step->end))) continue;
            ++count;
            total += gap.duration();
        }
    return fmt::format("idle stretches below {} are not listed: {} of them, {} in all\n", duration_text(least),
                       grouped(static_cast<std::uint64_t>(count)), duration_text(total));
}

void describe(const CommandIo& io, const AnalysedCapture& capture, std::vector<Bubble> bubbles, bool one_step) {
    if (bubbles.empty()) {
        const std::string least = duration_text(cut_off_of(capture));
        return print_text(io, one_step
                                  ? fmt::format("no bubbles in this step: no device that it ran on was idle for {} or longer\n", least)
                                  : fmt::format("no bubbles: no device was idle for {} or longer between two pieces of work\n", least));
    }
    std::stable_sort(bubbles.begin(), bubbles.end(), [](const Bubble& a, const Bubble& b) { return a.duration > b.duration; });
    std::vector<std::vector<std::string>> cells{{"device", "at", "idle for", "step", "cause", "under"}};
    for (std::size_t i = 0; i < std::min(bubbles.size(), kListed); ++i) {
        const Bubble& b = bubbles[i];
        cells.push_back({device_text(*capture.reader, b.device), time_text(b.start), duration_text(b.duration),
                         b.step ? fmt::format("{}", index_of(*b.step)) : "-", std::string(bubble_cause_name(b.cause)),
                         span_name(*capture.reader, b.host_span)});
    }
    print_text(io, aligned_table(cells, {true, true, true, true, false, false}));
    if (bubbles.size() > kListed) print_text(io, fmt::format("the {} longest of {}; --json lists all\n", kListed, grouped(bubbles.size())));
    print_text(io, "\n" + summary(*capture.reader, bubbles));
}

int run_bubbles(const BubblesOptions& options, const CommandIo& io) {
    const Result<AnalysedCapture> capture = open_analysed_capture(options.capture);
    if (!capture) return report_failure(io, capture.error());
    std::vector<Bubble> bubbles = capture->bubbles;
    const Step* step = nullptr;
    if (!options.step.empty()) {
        const auto found = std::find_if(capture->steps.begin(), capture->steps.end(),
                                        [&](const Step& s) { return fmt::format("{}", index_of(s.id)) == options.step; });
        if (found == capture->steps.end())
            return report_failure(
                io, {ErrorCode::wrong_usage, fmt::format("there is no step {}", options.step), "See: faultline steps CAPTURE"});
        step = &*found;
        // A stall has no work of its own: what was idle during it is shown.
        std::erase_if(bubbles, [&](const Bubble& b) {
            if (step->kind == StepKind::stall) return b.start >= step->end || b.start + b.duration <= step->start;
            return b.step != step->id;
        });
    }
    if (const auto log_only = log_only_text(*capture); log_only && !options.json) {
        print_text(io, *log_only);
        return finish_output(io);
    }
    if (options.json) {
        print_json(io, json_of(*capture->reader, bubbles));
    } else {
        if (step) {
            const auto at = static_cast<std::size_t>(step - capture->steps.data());
            const StepBound bound = at < capture->verdicts.size() ? capture->verdicts[at].bound : StepBound::unknown;
            print_text(io, one_line(fmt::format("step {}: {}, {}, bound by: {}", index_of(step->id), step->name,
                                                duration_text(step->end - step->start), bound_name(bound))) +
                               "\n");
        }
        describe(io, *capture, std::move(bubbles), step != nullptr);
        const Result<std::string> shorter = shorter_text(*capture, step, io.stop);
        if (!shorter) return report_failure(io, shorter.error());
        print_text(io, *shorter);
    }
    return finish_output(io);
}

}  // namespace

void add_bubbles_command(CLI::App& program, CommandAction& action) {
    CLI::App* const command = program.add_subcommand(
        "bubbles",
        "Stretches in which a device lay idle, and what the host did under them: cpu (its own work), sync (it waited for the device), "
        "communication (it waited for another process or rank), or unknown");
    const auto options = std::make_shared<BubblesOptions>();
    command->add_option("CAPTURE", options->capture, "A .faultline file")->required();
    command->add_option("--step", options->step, "Only those of this step (see: faultline steps CAPTURE)")
        ->type_name("ID")
        ->check(check_whole_number);
    command->add_flag("--json", options->json, "Answer with one JSON document");
    command->callback([options, &action] { action = [options](const CommandIo& io) { return run_bubbles(*options, io); }; });
}

}  // namespace faultline
