#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands/analysed_capture.h"
#include "app/commands/command.h"
#include "core/diagnosis_texts.h"
#include "core/evidence_texts.h"

namespace faultline {

namespace {

using Json = nlohmann::ordered_json;

struct DiagnoseOptions {
    std::string capture, model;
    std::int64_t step = 0;
    bool fail_on_fault = false;
    bool json = false;
};

constexpr int kFaultFound = 1;
constexpr std::size_t kEvidenceShown = 12;

Json json_of(const Diagnosis& d) {
    Json alternatives = Json::array(), suspects = Json::array(), evidence = Json::array();
    for (const auto& a : d.alternatives)
        alternatives.push_back(Json{{"fault_type", fault_type_name(a.fault_type)}, {"confidence", a.confidence}});
    for (const Suspect& s : d.suspects)
        suspects.push_back(
            Json{{"span", s.span.value}, {"name", s.name}, {"layer", s.layer}, {"rank", json_or_null(s.rank)}, {"score", s.score}});
    for (const Evidence& e : d.evidence)
        evidence.push_back(Json{{"kind", evidence_kind_name(e.kind)},
                                {"id", e.id},
                                {"start_ns", json_or_null(e.start)},
                                {"weight_ns", e.weight_ns},
                                {"sentence", e.sentence}});
    return {{"step", index_of(d.step)},
            {"abnormal", d.abnormal},
            {"fault_type", fault_type_name(d.fault_type)},
            {"confidence", d.confidence},
            {"alternatives", alternatives},
            {"suspects", suspects},
            {"explanation", d.explanation},
            {"evidence", evidence},
            {"ruled_out", d.ruled_out},
            {"next", d.next},
            {"missing", d.missing},
            {"model", d.model},
            {"stages_ms", {{"localize", d.localize_ms}, {"slice", d.slice_ms}, {"encode", d.encode_ms}, {"infer", d.infer_ms}}}};
}

void print_list(const CommandIo& io, std::string_view title, const std::vector<std::string>& sentences) {
    if (sentences.empty()) return;
    print(io, fmt::format("\n{}\n", title));
    for (const std::string& s : sentences) print(io, fmt::format("  - {}\n", s));
}

void print_text(const CommandIo& io, const Diagnosis& d) {
    print(io, fmt::format("{}, by {}\n", headline_of(d), d.model));
    for (const auto& a : d.alternatives)
        print(io, fmt::format("  or {}, {}\n", fault_class_text(a.fault_type), percent_words(a.confidence)));
    print(io, fmt::format("\n{}\n", d.explanation));
    if (!d.suspects.empty()) {
        print(io, "\nSuspects\n");
        std::vector<std::vector<std::string>> rows{{"score", "layer", "rank", "span", "name"}};
        for (const Suspect& s : d.suspects)
            rows.push_back(
                {fmt::format("{:.2f}", s.score), s.layer, s.rank ? std::to_string(*s.rank) : "-", std::to_string(s.span.value), s.name});
        print(io, aligned_table(rows, {true, false, true, true, false}));
    }
    std::vector<std::string> evidence;
    for (const Evidence& e : d.evidence)
        if (evidence.size() < kEvidenceShown) evidence.push_back(fmt::format("[{} {}] {}", evidence_kind_name(e.kind), e.id, e.sentence));
    print_list(io, "Evidence, biggest first", evidence);
    if (d.evidence.size() > kEvidenceShown) print(io, fmt::format("  ({} more with --json)\n", d.evidence.size() - kEvidenceShown));
    print_list(io, "Ruled out", d.ruled_out);
    print_list(io, "What to try or measure next", d.next);
    print_list(io, "What would make the answer surer", d.missing);
}

int run(const DiagnoseOptions& options, const CommandIo& io) {
    const auto capture = open_analysed_capture(options.capture);
    if (!capture) return report_failure(io, capture.error());
    const auto diagnosis = diagnose_by_numbers(capture->input(), StepId{options.step}, io.stop);
    if (!diagnosis) return report_failure(io, diagnosis.error());
    if (options.json)
        print_json(io, json_of(*diagnosis));
    else
        print_text(io, *diagnosis);
    if (const int status = finish_output(io); status != 0) return status;
    if (!options.model.empty())
        return report_failure(io,
                              {ErrorCode::unavailable, fmt::format("the program that asks the model in {} is not installed", options.model),
                               "The answer comes from the numbers alone"});
    return options.fail_on_fault && diagnosis->abnormal ? kFaultFound : 0;
}

}  // namespace

void add_diagnose_command(CLI::App& program, CommandAction& action) {
    CLI::App* const command =
        program.add_subcommand("diagnose", "Why a step was slow or wrong: fault type, suspects, explanation and evidence");
    const auto options = std::make_shared<DiagnoseOptions>();
    command->add_option("CAPTURE", options->capture, "A .faultline file")->required();
    command->add_option("--step", options->step, "The id of the step (see: faultline steps CAPTURE)")->type_name("ID")->required();
    command->add_option("--model", options->model, "A learned model; without it the numbers answer")->type_name("DIR");
    command->add_flag("--fail-on-fault", options->fail_on_fault, "End with status 1 where a fault was found");
    command->add_flag("--json", options->json, "Answer with one JSON document");
    command->callback([options, &action] { action = [options](const CommandIo& io) { return run(*options, io); }; });
}

}  // namespace faultline
