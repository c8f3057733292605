#include "ml/simulator/campaign/run_campaign.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "ml/simulator/campaign/request_traces.h"

namespace faultline::simulator {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kManifest = "manifest.json";
constexpr const char* kUnfinished = "unfinished";  // where a run is made

std::string_view format_name(TraceFormat format) {
    switch (format) {
        case TraceFormat::kineto: return "kineto";
        case TraceFormat::nsys: return "nsys";
        case TraceFormat::nsys_older: break;
    }
    return "nsys-older";
}

Json json_of(const CampaignRun& run, const std::vector<RequestTrace>* traces) {
    const FaultInfo* scenario = run.scenario();
    const bool faulty = run.type != FaultClass::normal;
    const Deployment& d = run.job.options.deployment;
    Json json{{"dir", run.dir},
              {"split", split_name(run.split)},
              {"engine", engine_name(d.engine)},
              {"class", fault_class_name(run.type)},
              {"kind", faulty ? Json(scenario->id) : Json()},
              {"seed", run.job.options.seed},
              {"look_alike", scenario != nullptr && scenario->look_alike ? Json(scenario->name) : Json()},
              {"model", d.model},
              {"gpu", d.gpu},
              {"tp", d.tp},
              {"graphs", graph_mode_name(d.graphs)},
              {"dialect", dialect_name(run.job.options.recording.dialect)},
              {"format", format_name(run.job.format)}};
    if (traces != nullptr) {
        json["request_traces"] = Json::array();
        for (const RequestTrace& trace : *traces)
            json["request_traces"].push_back({{"id", trace.id}, {"label", trace.label}, {"steps", trace.steps}});
    }
    return json;
}

Error unwritable(const fs::path& path, std::string_view why) {
    return {ErrorCode::unwritable_output, fmt::format("{} cannot be written: {}", path.string(), why), "Choose a folder with room in it"};
}

/// Beside its place, then renamed.
Result<void> write_manifest(const fs::path& folder, const Json& manifest) {
    const fs::path path = folder / kManifest, partial = folder / "manifest.json.partial";
    std::ofstream file(partial, std::ios::binary | std::ios::trunc);
    file << manifest.dump(1) << "\n";
    file.close();
    std::error_code error;
    if (!file) return tl::unexpected<Error>(unwritable(path, "the disk is full, or the folder cannot be written"));
    fs::rename(partial, path, error);
    if (error) return tl::unexpected<Error>(unwritable(path, error.message()));
    return {};
}

class CampaignRunner {
public:
    CampaignRunner(const CampaignPlan& plan, const std::string& folder, const RunMaker& maker, const Progress& progress,
                   const CampaignReport& report)
        : plan_(plan), folder_(folder), maker_(maker), progress_(progress), report_(report) {}

    Result<CampaignSummary> run() {
        if (auto ready = prepare(); !ready) return tl::unexpected<Error>(ready.error());
        summary_.runs = plan_.runs.size();
        for (std::size_t i = 0; i < plan_.runs.size(); ++i) {
            if (auto made = make(i); !made) return tl::unexpected<Error>(given_up(made.error()));
        }
        if (auto done = finish(); !done) return tl::unexpected<Error>(done.error());
        return summary_;
    }

private:
    Json head(bool complete) const {
        return {{"simulated", true},
                {"campaign", campaign_name(plan_.request.size)},
                {"reserved", plan_.request.reserved},
                {"seed", plan_.request.seed},
                {"plan", plan_.hash},
                {"complete", complete}};
    }

    Result<void> prepare() {
        std::error_code error;
        if (!fs::exists(folder_, error)) {
            made_folder_ = fs::create_directories(folder_, error);
            if (error) return tl::unexpected<Error>(unwritable(folder_, error.message()));
        } else if (!fs::is_directory(folder_, error)) {
            return fail(ErrorCode::unwritable_output, fmt::format("{} is no folder", folder_.string()),
                        "Give a folder that is new or empty");
        } else if (!fs::is_empty(folder_, error)) {
            std::ifstream file(folder_ / kManifest, std::ios::binary);
            const Json before = Json::parse(file, nullptr, false);
            if (!before.is_object() || before.value("plan", "") != plan_.hash) {
                return fail(ErrorCode::unwritable_output,
                            fmt::format("{} is not empty, and does not hold the beginning of this campaign", folder_.string()),
                            "Give a folder that is new or empty, or the seed and the options it was begun with");
            }
            fs::remove_all(folder_ / kUnfinished, error);
            return {};
        }
        Json manifest = head(false);
        manifest["runs"] = Json::array();
        for (const CampaignRun& run : plan_.runs) manifest["runs"].push_back(json_of(run, nullptr));
        return write_manifest(folder_, manifest);
    }

    Result<void> make(std::size_t position) {
        const CampaignRun& run = plan_.runs[position];
        const fs::path place = folder_ / run.dir, unfinished = folder_ / kUnfinished;
        std::error_code error;
        if (fs::exists(place / "truth.json", error)) {
            ++summary_.kept;
            return {};
        }
        if (progress_.stopped()) return fail(ErrorCode::cancelled, "The campaign was stopped");
        if (report_) report_(position, run);
        SimulationJob job = run.job;
        job.folder = unfinished.string();
        const auto made = maker_(job, progress_);
        if (!made) {
            Error failed = made.error();
            if (failed.code != ErrorCode::cancelled) failed.sentence = fmt::format("{}: {}", run.dir, failed.sentence);
            return tl::unexpected<Error>(failed);
        }
        fs::rename(unfinished, place, error);
        if (error) return tl::unexpected<Error>(unwritable(place, error.message()));
        ++summary_.made;
        summary_.events += made->events;
        summary_.steps += made->steps;
        summary_.faulty_steps += made->faulty_steps;
        return {};
    }

    /// Leaves what is whole, or nothing.
    Error given_up(Error error) {
        std::error_code ignored;
        fs::remove_all(folder_ / kUnfinished, ignored);
        if (summary_.made + summary_.kept == 0) {
            fs::remove(folder_ / kManifest, ignored);
            if (made_folder_) fs::remove(folder_, ignored);
            if (error.code == ErrorCode::cancelled) error.sentence = "The campaign was stopped; what it had written is gone";
        } else if (error.code == ErrorCode::cancelled) {
            error.sentence =
                fmt::format("The campaign was stopped with {} of {} runs complete", summary_.made + summary_.kept, plan_.runs.size());
            error.hint = "The same command goes on where it stopped";
        }
        return error;
    }

    Result<void> finish() {
        Json manifest = head(true);
        manifest["runs"] = Json::array();
        for (const CampaignRun& run : plan_.runs) {
            const auto traces = request_traces((folder_ / run.dir / "truth.json").string(), run);
            if (!traces) return tl::unexpected<Error>(traces.error());
            count(run, *traces);
            manifest["runs"].push_back(json_of(run, &*traces));
        }
        return write_manifest(folder_, manifest);
    }

    void count(const CampaignRun& run, const std::vector<RequestTrace>& traces) {
        int faulty = 0;
        for (const RequestTrace& trace : traces) {
            faulty += trace.label != "normal" ? 1 : 0;
            summary_.trace_steps += trace.steps.size();
        }
        const int normal = static_cast<int>(traces.size()) - faulty;
        summary_.traces += traces.size();
        summary_.faulty_traces += static_cast<std::size_t>(faulty);
        summary_.planned_traces += static_cast<std::size_t>(run.faulty_traces + run.normal_traces);
        summary_.planned_faulty_traces += static_cast<std::size_t>(run.faulty_traces);
        if (faulty < run.faulty_traces || normal < run.normal_traces) {
            summary_.short_runs.push_back(fmt::format("{} ({}) has {} of {} faulty and {} of {} normal request traces", run.dir,
                                                      run.scenario() != nullptr ? run.scenario()->name : "normal", faulty,
                                                      run.faulty_traces, normal, run.normal_traces));
        }
    }

    const CampaignPlan& plan_;
    fs::path folder_;
    const RunMaker& maker_;
    const Progress& progress_;
    const CampaignReport& report_;
    CampaignSummary summary_;
    bool made_folder_ = false;
};

}  // namespace

Result<CampaignSummary> run_campaign(const CampaignPlan& plan, const std::string& folder, const RunMaker& maker, const Progress& progress,
                                     const CampaignReport& report) {
    return CampaignRunner(plan, folder, maker, progress, report).run();
}

}  // namespace faultline::simulator
