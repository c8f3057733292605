#include "ml/simulator/serving/simulation.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "ml/simulator/base/passing_sink.h"
#include "ml/simulator/logs/stack_sampler.h"
#include "ml/simulator/serving/run_folder.h"
#include "ml/simulator/serving/serving_run.h"

namespace faultline::simulator {
namespace {

/// 2026-01-01 00:00 UTC; runs start somewhere in the half year after it.
constexpr TimeNs kEpoch = 1'767'225'600'000'000'000;
constexpr std::uint64_t kStartRange = 180ULL * 86'400 * 1'000'000'000;

/// What simulate() and simulate_into() build first.
struct Setting {
    RunOptions options;
    Noise noise{0};
    TimeNs start = 0, end = 0;
    std::unique_ptr<Fault> fault;
    bool injected = false;
    Names names;
    std::unique_ptr<DeviceModel> device;
    std::unique_ptr<HostModel> host;
    std::unique_ptr<LogVoice> voice;
};

Result<void> check(const RunOptions& options, const FaultInfo* fault) {
    const Deployment& d = options.deployment;
    const auto wrong = [](std::string sentence, std::string hint) { return fail(ErrorCode::wrong_usage, std::move(sentence), std::move(hint)); };
    const auto names_of = [](const auto& cards) {
        std::string list;
        for (const auto& card : cards) list += (list.empty() ? "" : ", ") + std::string(card.name);
        return list;
    };
    if (model_named(d.model) == nullptr) return wrong(fmt::format("There is no model {}", d.model), "Known are " + names_of(model_cards()));
    if (gpu_named(d.gpu) == nullptr) return wrong(fmt::format("There is no GPU {}", d.gpu), "Known are " + names_of(gpu_cards()));
    if (d.tp != 1 && d.tp != 2 && d.tp != 4 && d.tp != 8) return wrong(fmt::format("{} ranks are no size of a group", d.tp), "Give 1, 2, 4 or 8");
    if (d.nodes != 1 && d.nodes != 2) return wrong(fmt::format("{} nodes cannot be simulated", d.nodes), "Give 1 or 2");
    if (d.nodes == 2 && d.tp * d.dp < 2) return wrong("One rank does not reach over two nodes", "Give --tp 2 or more");
    if (options.duration_s <= 0 || options.duration_s > 1e6) return wrong("The duration is no number of seconds that can be simulated", "Give more than 0");
    const ModelCard& model = *model_named(d.model);
    const GpuCard& gpu = *gpu_named(d.gpu);
    if (!fits(model, gpu, d.tp)) {
        return wrong(fmt::format("{} does not fit on {} {}", model.title, d.tp, gpu.title), "Give more ranks with --tp, or a smaller model");
    }
    if (fault == nullptr) return {};
    if ((fault->engines >> static_cast<int>(d.engine) & 1) == 0) {
        return wrong(fmt::format("The scenario {} does not exist in {}", fault->name, engine_name(d.engine)), "Choose another --engine");
    }
    if (d.tp * d.dp < fault->ranks) {
        return wrong(fmt::format("The scenario {} needs {} ranks", fault->name, fault->ranks), fmt::format("Give --tp {}", fault->ranks));
    }
    return {};
}

/// The window in which the fault acts: after enough of normal service, to near the end of the run.
FaultSettings settings_of(const FaultChoice& choice, const RunOptions& options, const Noise& noise, TimeNs start) {
    FaultSettings settings;
    settings.info = choice.info;
    const double from = options.duration_s * (0.5 + 0.15 * noise.uniform(Draw::fault_window));
    const double length = choice.duration_s.value_or(options.duration_s * (0.2 + 0.15 * noise.uniform(Draw::fault_window, 1)));
    settings.start = start + static_cast<TimeNs>(from * 1e9);
    settings.end = settings.start + static_cast<TimeNs>(length * 1e9);
    if (choice.info->largest > 0) {
        settings.size = choice.intensity * noise.log_uniform(choice.info->smallest, choice.info->largest, Draw::fault_size);
    }
    settings.ranks = choice.ranks;
    return settings;
}

Result<std::unique_ptr<Setting>> set_up(const RunOptions& asked, const std::optional<FaultChoice>& choice) {
    auto setting = std::make_unique<Setting>();
    setting->options = asked;
    setting->noise = Noise(asked.seed);
    RunOptions& options = setting->options;
    setting->start = options.start != 0 ? options.start : kEpoch + static_cast<TimeNs>(setting->noise.below(kStartRange, Draw::start_time));
    options.start = setting->start;
    setting->end = setting->start + static_cast<TimeNs>(options.duration_s * 1e9);
    if (choice && choice->info != nullptr) {
        setting->fault = Fault::make(settings_of(*choice, options, setting->noise, setting->start), setting->noise);
        setting->injected = choice->inject;
        setting->fault->configure(options, choice->inject);
    }
    if (auto good = check(options, setting->fault ? setting->fault->settings().info : nullptr); !good) return tl::unexpected<Error>(good.error());
    setting->device = std::make_unique<DeviceModel>(options.deployment, setting->names, setting->noise);
    setting->host = HostModel::make(options, *setting->device, setting->names, setting->noise, setting->start);
    setting->voice = LogVoice::make(options, setting->host->topology(), *setting->device, setting->noise);
    return setting;
}

RunParts parts_of(Setting& s) {
    return {s.options, s.noise, s.names, *s.device, *s.host, *s.voice, s.injected ? s.fault.get() : nullptr, s.start, s.end};
}

/// Makes the folder, or says why it cannot be used. True: it was not there before.
Result<bool> prepare_folder(const std::string& folder) {
    std::error_code error;
    if (std::filesystem::exists(folder, error)) {
        if (!std::filesystem::is_directory(folder, error)) {
            return fail(ErrorCode::unwritable_output, fmt::format("{} is no folder", folder), "Give a folder that is new or empty");
        }
        if (!std::filesystem::is_empty(folder, error)) {
            return fail(ErrorCode::unwritable_output, fmt::format("{} is not empty", folder), "Give a folder that is new or empty");
        }
        return false;
    }
    std::filesystem::create_directories(folder, error);
    if (error) return fail(ErrorCode::unwritable_output, fmt::format("{} cannot be made: {}", folder, error.message()), "Choose another folder");
    return true;
}

void remove_contents(const std::string& folder, bool folder_too) {
    std::error_code error;
    if (folder_too) {
        std::filesystem::remove_all(folder, error);
        return;
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) std::filesystem::remove_all(entry.path(), error);
}

/// Events on their way to the progress report.
class Meter final : public PassingSink {
public:
    Meter(Sink& next, const Progress& progress) : PassingSink(next), progress_(progress) {}
    void event(const Event& event) override {
        next_.event(event);
        if ((++events_ & 0x3FFFF) == 0) progress_({ImportPhase::writing, 0, 0, events_});
    }

private:
    const Progress& progress_;
    std::uint64_t events_ = 0;
};

}  // namespace

Result<SimulationSummary> simulate(const SimulationJob& job, const Progress& progress) {
    auto setting = set_up(job.options, job.fault);
    if (!setting) return tl::unexpected<Error>(setting.error());
    Setting& s = **setting;
    const Result<bool> made = prepare_folder(job.folder);
    if (!made) return tl::unexpected<Error>(made.error());
    auto folder = RunFolder::open({job.folder, s.options, s.host->topology(), s.names, job.format, job.gzip, s.start, s.fault.get(), s.injected});
    if (!folder) {
        remove_contents(job.folder, *made);
        return tl::unexpected<Error>(folder.error());
    }
    folder->begin_at(static_cast<StepNumber>(s.options.recording.skip_steps));
    Meter meter(*folder, progress);
    std::unique_ptr<Sink> sampler;
    if (s.options.recording.samples) sampler = make_stack_sampler(s.options, s.host->topology(), s.names, s.noise, meter);
    const Fault* fault = s.injected ? s.fault.get() : nullptr;
    RunListener listener;
    listener.step = [&](const StepRecord& record, FaultClass label) { folder->step(record, label, fault); };
    listener.request = [&](const Request& request, FaultClass label, const RequestRecord& record) { folder->request(request, label, record, fault); };
    ServingRun run(parts_of(s), sampler ? *sampler : static_cast<Sink&>(meter), std::move(listener),
                   [&](ProcessIndex process) { return folder->file_of(process); });
    if (!run.serve(progress.stop)) {
        remove_contents(job.folder, *made);
        return fail(ErrorCode::cancelled, "The simulation was stopped; what it had written is gone");
    }
    sampler.reset();
    auto files = folder->finish(s.start, run.ended(), run.summary().stuck);
    if (!files) {
        remove_contents(job.folder, *made);
        return tl::unexpected<Error>(files.error());
    }
    SimulationSummary summary = run.summary();
    summary.files = std::move(*files);
    summary.events = folder->written();
    summary.samples = folder->samples();
    summary.options = s.options;
    return summary;
}

Result<SimulationSummary> simulate_into(const RunOptions& options, const std::optional<FaultChoice>& fault, const SimulationHooks& hooks,
                                        std::stop_token stop) {
    auto setting = set_up(options, fault);
    if (!setting) return tl::unexpected<Error>(setting.error());
    Setting& s = **setting;
    RunListener listener;
    listener.step = hooks.record;
    listener.completed = hooks.completed;
    ServingRun run(parts_of(s), *hooks.sink, std::move(listener), {});
    if (!run.serve(stop)) return fail(ErrorCode::cancelled, "The simulation was stopped");
    SimulationSummary summary = run.summary();
    summary.options = s.options;
    return summary;
}

}  // namespace faultline::simulator
