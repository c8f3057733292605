#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands/analysed_capture.h"
#include "app/commands/command.h"
#include "core/candidates.h"

namespace faultline {

namespace {

using Json = nlohmann::ordered_json;

struct CandidatesOptions {
    std::string capture;
    std::int64_t step = 0;
    std::string score = "density";
    bool json = false;
};

constexpr std::size_t kInstancesShown = 20;

Json candidates_json(const Candidates& candidates) {
    Json families = Json::array(), instances = Json::array(), references = Json::array();
    for (const FamilyScore& f : candidates.families)
        families.push_back(
            Json{{"family", f.family}, {"suspiciousness", f.suspiciousness}, {"candidate", f.candidate}, {"instances", f.instances}});
    for (const InstanceScore& i : candidates.instances)
        instances.push_back(
            Json{{"span", i.span.value}, {"family", candidates.families[i.family].family}, {"score", i.score}, {"excess_ns", i.excess_ns}});
    for (const StepId s : candidates.references) references.push_back(index_of(s));
    return {{"step", index_of(candidates.step)},
            {"families", families},
            {"instances", instances},
            {"references", references},
            {"rule", candidates.rule}};
}

Result<std::string> name_of(const CaptureReader& capture, SpanId span) {
    const Result<std::int64_t> name = capture.value(span, Column::name);
    if (!name) return tl::unexpected<Error>(name.error());
    return std::string(capture.name(NameId{static_cast<std::uint32_t>(*name)}));
}

int print_text(const CommandIo& io, const CaptureReader& capture, const Candidates& candidates) {
    const std::size_t references = candidates.references.size();
    print(io, fmt::format("Step {} held against {}: which kinds of work are out of line. The score goes from 0 (as ever) to 1 (never seen "
                          "so);\n{}.\n\n",
                          index_of(candidates.step),
                          references == 0   ? std::string("itself, since no other step is like it")
                          : references == 1 ? std::string("1 normal step like it")
                                            : fmt::format("{} normal steps like it", references),
                          candidates.score == CandidateScore::density
                              ? "it counts how unusual the durations are and how much time of the step they cost"
                              : "it is the responsibility score of the paper, which does not weigh the time that is lost"));
    std::vector<std::vector<std::string>> rows{{"family", "score", "out of line", "operators"}};
    for (const FamilyScore& f : candidates.families)
        rows.push_back({f.family, fmt::format("{:.3f}", f.suspiciousness), f.candidate ? "yes" : "no",
                        grouped(static_cast<std::uint64_t>(f.instances))});
    print(io, aligned_table(rows, {false, true, false, true}) + "\n");
    rows = {{"score", "longer by", "family", "span", "name"}};
    for (const InstanceScore& i : candidates.instances) {
        if (rows.size() > kInstancesShown || i.score <= 0) break;
        const auto name = name_of(capture, i.span);
        if (!name) return report_failure(io, name.error());
        rows.push_back({fmt::format("{:.3f}", i.score), duration_text(i.excess_ns), candidates.families[i.family].family,
                        std::to_string(i.span.value), *name});
    }
    if (rows.size() == 1)
        print(io, "No operator of the step is out of line.\n");
    else
        print(io, "Its operators, most unusual first\n" + aligned_table(rows, {true, true, false, true, false}));
    print(io, fmt::format("\nHow it was fitted: {}\n", candidates.rule));
    return finish_output(io);
}

int run(const CandidatesOptions& options, const CommandIo& io) {
    const auto capture = open_analysed_capture(options.capture);
    if (!capture) return report_failure(io, capture.error());
    const auto candidates = find_candidates(*capture->reader, capture->layers, capture->steps, capture->verdicts, StepId{options.step},
                                            options.score == "paper" ? CandidateScore::paper : CandidateScore::density, io.stop);
    if (!candidates) return report_failure(io, candidates.error());
    if (!options.json) return print_text(io, *capture->reader, *candidates);
    print_json(io, candidates_json(*candidates));
    return finish_output(io);
}

}  // namespace

void add_candidates_command(CLI::App& program, CommandAction& action) {
    CLI::App* const command =
        program.add_subcommand("candidates", "Which operator families and operators of a step are out of line with its reference steps");
    const auto options = std::make_shared<CandidatesOptions>();
    command->add_option("CAPTURE", options->capture, "A .faultline file")->required();
    command->add_option("--step", options->step, "The id of the step (see: faultline steps CAPTURE)")->type_name("ID")->required();
    command
        ->add_option(
            "--score", options->score,
            "How an operator is scored: density (how improbable it is among the references) or paper (responsibility of the central "
            "mixture components)")
        ->check(CLI::IsMember({"density", "paper"}))
        ->capture_default_str();
    command->add_flag("--json", options->json, "Answer with one JSON document");
    command->callback([options, &action] { action = [options](const CommandIo& io) { return run(*options, io); }; });
}

}  // namespace faultline
