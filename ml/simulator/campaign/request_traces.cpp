#include "ml/simulator/campaign/request_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

namespace faultline::simulator {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kShortest = 3;  // steps: less says nothing of a request

struct Candidate {
    std::string id;
    std::vector<std::size_t> steps;  ///< positions, ascending
    std::size_t first_faulty = 0;    ///< position among its steps
    bool touched = false;
};

struct Truth {
    std::vector<std::int64_t> ids;
    std::vector<std::string> labels;
    std::map<std::string, Candidate> requests;
    std::map<std::string, std::string> request_labels;
};

void read_steps(const Json& json, Truth& truth) {
    for (const Json& step : json) {
        const std::size_t position = truth.ids.size();
        truth.ids.push_back(step.value("id", std::int64_t{0}));
        truth.labels.push_back(step.value("label", "normal"));
        for (const Json& id : step.value("requests", Json::array())) {
            if (!id.is_string()) continue;
            Candidate& request = truth.requests[id.get<std::string>()];
            request.id = id.get<std::string>();
            if (truth.labels.back() != "normal" && !request.touched) {
                request.touched = true;
                request.first_faulty = request.steps.size();
            }
            request.steps.push_back(position);
        }
    }
}

/// At most `most` steps, those around the fault or the first.
RequestTrace trace_of(const Candidate& request, const Truth& truth, const std::string& label, std::size_t most) {
    RequestTrace trace{request.id, label, {}};
    std::size_t from = request.touched ? request.first_faulty - std::min(request.first_faulty, most / 3) : 0;
    from = std::min(from, request.steps.size() - std::min(request.steps.size(), most));
    for (std::size_t i = from; i < request.steps.size() && i < from + most; ++i) trace.steps.push_back(truth.ids[request.steps[i]]);
    return trace;
}

/// `wanted` of the candidates, spread evenly over the run.
void choose(std::vector<const Candidate*> from, std::size_t wanted, const Truth& truth, const std::string& label, std::size_t most,
            std::vector<RequestTrace>& into) {
    std::stable_sort(from.begin(), from.end(), [](const Candidate* a, const Candidate* b) { return a->steps.front() < b->steps.front(); });
    wanted = std::min(wanted, from.size());
    for (std::size_t i = 0; i < wanted; ++i) into.push_back(trace_of(*from[(2 * i + 1) * from.size() / (2 * wanted)], truth, label, most));
}

}  // namespace

Result<std::vector<RequestTrace>> request_traces(const std::string& truth_path, const CampaignRun& run) {
    std::ifstream file(truth_path, std::ios::binary);
    const Json json = Json::parse(file, nullptr, false);
    if (!file || json.is_discarded() || !json.is_object() || !json.contains("steps")) {
        return fail(ErrorCode::unusable_input, fmt::format("{} is not the truth of a run", truth_path),
                    "Remove the run's folder, and it is made again");
    }
    Truth truth;
    read_steps(json["steps"], truth);
    for (const Json& request : json.value("requests", Json::array()))
        truth.request_labels[request.value("id", "")] = request.value("label", "normal");
    const std::string type(fault_class_name(run.type));
    std::vector<const Candidate*> faulty, normal;
    for (const auto& [id, request] : truth.requests) {
        const auto found = truth.request_labels.find(id);
        const std::string label = found == truth.request_labels.end() ? "normal" : found->second;
        if (label == "normal" && !request.touched && request.steps.size() >= kShortest) normal.push_back(&request);
        if (label != "normal" || request.touched) faulty.push_back(&request);
    }
    const int traces = std::max(1, run.faulty_traces + run.normal_traces);
    const auto most = static_cast<std::size_t>(std::max(static_cast<int>(kShortest), (run.steps + traces - 1) / traces));
    std::vector<RequestTrace> chosen;
    choose(faulty, static_cast<std::size_t>(run.faulty_traces), truth, type, most, chosen);
    choose(normal, static_cast<std::size_t>(run.normal_traces), truth, "normal", most, chosen);
    return chosen;
}

}  // namespace faultline::simulator
