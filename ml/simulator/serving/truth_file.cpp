#include "ml/simulator/serving/truth_file.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace faultline::simulator {
namespace {

using Json = nlohmann::ordered_json;

/// Bubbles below this are the ordinary distance between kernels.
constexpr TimeNs kShortestBubble = 10'000;

std::string_view cause_name(IdleCause cause) {
    switch (cause) {
        case IdleCause::cpu: return "cpu";
        case IdleCause::sync: return "sync";
        case IdleCause::communication: return "communication";
        case IdleCause::unknown: return "unknown";
    }
    return "unknown";
}

std::string_view kind_word(StepKind kind) {
    switch (kind) {
        case StepKind::prefill: return "prefill";
        case StepKind::decode: return "decode";
        case StepKind::mixed: return "mixed";
        case StepKind::dummy:
        case StepKind::idle: return "other";
    }
    return "other";
}

Json time_or_null(TimeNs time) { return time == kNull ? Json() : Json(time); }

Json json_of(const SuspectOperator& s) {
    return Json{{"file", s.file},
                {"process", s.pid},
                {"rank", s.rank < 0 ? Json() : Json(s.rank)},
                {"layer", s.layer},
                {"name", s.name},
                {"correlation", s.correlation == 0 ? Json() : Json(s.correlation)},
                {"range", s.range == 0 ? Json() : Json(s.range)},
                {"start_ns", s.start},
                {"duration_ns", s.duration},
                {"role", role_name(s.role)}};
}

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

Result<TruthFile> TruthFile::open(const std::string& path, const RunOptions& options, const Topology& topology, const Fault* fault, bool injected) {
    TruthFile truth;
    truth.path_ = path;
    truth.topology_ = &topology;
    truth.steps_.reset(std::fopen(path.c_str(), "wb"));
    truth.requests_.reset(std::tmpfile());
    truth.bubbles_.reset(std::tmpfile());
    if (!truth.steps_ || !truth.requests_ || !truth.bubbles_) {
        return fail(ErrorCode::unwritable_output, fmt::format("{} cannot be written: {}", path, std::strerror(errno)), "Choose a folder with room in it");
    }
    const Deployment& d = options.deployment;
    Json head{{"seed", options.seed},
              {"engine", engine_name(d.engine)},
              {"simulated", true},
              {"model", d.model},
              {"gpu", d.gpu},
              {"tp", d.tp},
              {"dp", d.dp},
              {"nodes", d.nodes},
              {"graphs", graph_mode_name(d.graphs)},
              {"dialect", dialect_name(options.recording.dialect)}};
    if (fault != nullptr) {
        const FaultSettings& s = fault->settings();
        head["scenario"] = {{"name", s.info->name},
                            {"id", s.info->id},
                            {"fault_type", fault_class_name(s.info->type)},
                            {"look_alike", s.info->look_alike},
                            {"injected", injected},
                            {"size", s.info->size.empty() ? Json() : Json(s.size)},
                            {"size_is", s.info->size},
                            {"start_ns", s.start},
                            {"end_ns", s.end},
                            {"ranks", s.ranks}};
    } else {
        head["scenario"] = nullptr;
    }
    std::string text = dumped(head);
    text.back() = ',';
    text += "\n\"steps\":[";
    if (std::fwrite(text.data(), 1, text.size(), truth.steps_.get()) != text.size()) truth.failed_ = true;
    return truth;
}

void TruthFile::put(File& file, bool& first, const std::string& text) {
    if (failed_) return;
    const std::string_view comma = first ? "\n" : ",\n";
    first = false;
    failed_ = std::fwrite(comma.data(), 1, comma.size(), file.get()) != comma.size() ||
              std::fwrite(text.data(), 1, text.size(), file.get()) != text.size();
}

void TruthFile::step(const StepRecord& record, FaultClass label, const Fault* fault) {
    const bool faulty = label != FaultClass::normal;
    const bool scenario = fault != nullptr && record.touched;
    Json suspects = Json::array();
    std::vector<int> culprits;
    if (faulty) {
        for (const SuspectOperator& s : record.suspects) suspects.push_back(json_of(s));
        culprits = fault->culprit_ranks(record);
    }
    Json step{{"id", record.plan.step},
              {"name", record.text},
              {"phase", kind_word(record.plan.kind)},
              {"instance", static_cast<int>(record.plan.instance)},
              {"number", record.plan.instance_step},
              {"start_ns", record.start},
              {"end_ns", record.end},
              {"tokens", record.plan.tokens},
              {"batch", record.plan.requests.size()},
              {"culprit_ranks", culprits},
              {"requests", record.requests},
              {"ranks", record.ranks},
              {"label", fault_class_name(label)},
              {"kind", faulty ? Json(fault->settings().info->id) : Json()},
              {"look_alike", scenario && fault->settings().info->look_alike ? Json(fault->settings().info->name) : Json()},
              {"rehearsed_ns", time_or_null(record.rehearsed)},
              {"usual_ns", time_or_null(record.usual)},
              {"suspects", std::move(suspects)},
              {"logs", faulty ? Json(record.suspect_logs) : Json::array()},
              {"explanation", faulty ? Json(fault->explain(record)) : Json()}};
    put(steps_, first_step_, dumped(step));
}

void TruthFile::request(const Request& request, FaultClass label, const RequestRecord& record, const Fault* fault) {
    const bool held = label != FaultClass::normal && record.where != Waiting::nowhere;  // else its steps say what befell it
    Json suspects = Json::array();
    if (held) {
        for (const SuspectOperator& s : record.suspects) suspects.push_back(json_of(s));
    }
    static constexpr std::array<std::string_view, 5> kEnds{"running", "length", "stop", "aborted", "failed"};
    const Json json{{"id", request.id},
                    {"instance", static_cast<int>(request.instance)},
                    {"prompt_tokens", request.prompt_tokens},
                    {"output_tokens", request.generated},
                    {"sent_ns", time_or_null(request.sent)},
                    {"received_ns", time_or_null(request.received)},
                    {"first_token_ns", time_or_null(request.first_token)},
                    {"end_ns", time_or_null(request.ended)},
                    {"end", kEnds[static_cast<std::size_t>(request.end)]},
                    {"preemptions", request.preemptions},
                    {"cached_tokens", request.cached},
                    {"label", fault_class_name(label)},
                    {"kind", label != FaultClass::normal ? Json(fault->settings().info->id) : Json()},
                    {"suspects", std::move(suspects)},
                    {"logs", held ? Json(record.logs) : Json::array()},
                    {"explanation", held ? Json(fault->explain(record)) : Json()}};
    put(requests_, first_request_, dumped(json));
}

void TruthFile::bubble(const IdleGap& gap) {
    if (gap.duration < kShortestBubble) return;
    const DeviceInfo& device = topology_->device_of(gap.stream);
    put(bubbles_, first_bubble_,
        fmt::format("{{\"device\":{},\"rank\":{},\"step\":{},\"start_ns\":{},\"duration_ns\":{},\"cause\":\"{}\"}}", device.ordinal, device.rank, gap.step,
                    gap.start, gap.duration, cause_name(gap.cause)));
}

Result<void> TruthFile::finish(TimeNs start, TimeNs end, bool stuck, const std::vector<std::string>& files) {
    const auto append = [&](std::string_view head, File& part) {
        failed_ = failed_ || std::fwrite(head.data(), 1, head.size(), steps_.get()) != head.size() || std::fflush(part.get()) != 0;
        std::rewind(part.get());
        std::array<char, 65536> buffer;
        while (!failed_) {
            const std::size_t read = std::fread(buffer.data(), 1, buffer.size(), part.get());
            if (read == 0) break;
            failed_ = std::fwrite(buffer.data(), 1, read, steps_.get()) != read;
        }
    };
    append("\n],\n\"requests\":[", requests_);
    append("\n],\n\"bubbles\":[", bubbles_);
    Json clocks = Json::array();
    for (const NodeInfo& node : topology_->nodes) {
        clocks.push_back({{"host", node.host}, {"origin_ns", node.clock.origin}, {"offset_ns", node.clock.offset}, {"drift_ppb", node.clock.drift_ppb}});
    }
    const Json tail{{"clocks", clocks}, {"start_ns", start}, {"end_ns", end}, {"stuck", stuck}, {"files", files}};
    std::string text = "\n],\n" + dumped(tail).substr(1) + "\n";
    failed_ = failed_ || std::fwrite(text.data(), 1, text.size(), steps_.get()) != text.size();
    failed_ = std::fclose(steps_.release()) != 0 || failed_;
    if (failed_) return fail(ErrorCode::unwritable_output, fmt::format("{} could not be written whole", path_), "Make room on the disk and try again");
    return {};
}

}  // namespace faultline::simulator
