#include "app/commands/simulate_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <array>
#include <utility>

#include "app/commands/command.h"
#include "ml/simulator/device/cards.h"

namespace faultline {

namespace {

using namespace simulator;

/// The scenario of the sample (resources/sample): the sampler builds a list on the host in every step, and the devices wait.
constexpr std::string_view kSampleScenario = "sampler-host-list";

constexpr std::array<std::pair<std::string_view, TraceFormat>, 3> kFormats{
    {{"kineto", TraceFormat::kineto}, {"nsys", TraceFormat::nsys}, {"nsys-older", TraceFormat::nsys_older}}};

constexpr const char *kWhat = "What is simulated", *kFault = "The fault", *kServed = "The deployment", *kLoad = "The load",
                     *kRecorded = "What is recorded";

auto wrong(std::string sentence, std::string hint) { return fail(ErrorCode::wrong_usage, std::move(sentence), std::move(hint)); }

/// Whole numbers below 64, between commas; nothing where the text is something else.
std::optional<std::vector<int>> ranks_of(const std::string& text) {
    std::vector<int> ranks;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const std::string part = text.substr(at, end - at);
        if (part.empty() || part.size() > 2 || part.find_first_not_of("0123456789") != std::string::npos || std::stoi(part) > 63)
            return std::nullopt;
        ranks.push_back(std::stoi(part));
        at = end + 1;
    }
    return ranks;
}

std::string check_ranks(const std::string& text) {
    return ranks_of(text) ? std::string() : fmt::format("must be ranks such as 0,2, not \"{}\"", text);
}

/// A number within bounds; neither infinite nor none.
CLI::Validator within(double least, double most) {
    return CLI::Validator(
        [least, most](const std::string& text) {
            double value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool fits = error == std::errc() && end == text.data() + text.size() && value >= least && value <= most;
            return fits ? std::string() : fmt::format("must be a number from {} to {}, not \"{}\"", least, most, text);
        },
        "");
}

/// Ranks that are not there would be passed over in silence.
Result<void> check_fault_ranks(const std::vector<int>& ranks, const Deployment& d) {
    const int instances = d.prefill_decode ? 2 : d.dp;
    for (const int rank : ranks) {
        if (rank < d.tp * instances) continue;
        return wrong(fmt::format("rank {} is not there: the run has {} {}", rank, d.tp * instances, d.tp * instances == 1 ? "rank" : "ranks"),
                     fmt::format("Name ranks from 0 to {} with --fault-ranks, or give more with --tp", d.tp * instances - 1));
    }
    return {};
}

/// What the engine does not have would be passed over in silence.
Result<void> check_engine_has(const SimulateOptions& options, Engine engine) {
    const bool vllm_v1 = engine == Engine::vllm_v1_online || engine == Engine::vllm_v1_offline;
    if (options.iteration_log && !vllm_v1) {
        return wrong(fmt::format("{} writes no line for each step", engine_name(engine)), "Leave out --iteration-log, or give --engine vllm-v1-online");
    }
    if (options.prefill_decode && (engine == Engine::fsdp || engine == Engine::vllm_v1_offline || engine == Engine::vllm_v0)) {
        return wrong(fmt::format("{} has no instances for prefill and decode", engine_name(engine)),
                     "Leave out --prefill-decode, or give --engine vllm-v1-online or sglang");
    }
    if (options.spec_tokens.value_or(0) > 0 && engine == Engine::fsdp) {
        return wrong("fsdp has no drafts", "Leave out --spec-tokens, or give another --engine");
    }
    return {};
}

template <class Cards>
std::string names_of(const Cards& cards) {
    std::string names;
    for (const auto& card : cards) names += (names.empty() ? "" : ", ") + std::string(card.name);
    return names;
}

/// The options that a campaign decides for each of its runs; the first that was given.
std::string decided_by_campaign(const SimulateOptions& o) {
    const std::pair<bool, const char*> given[] = {{o.engine.has_value(), "--engine"},
                                                  {o.model.has_value(), "--model"},
                                                  {o.gpu.has_value(), "--gpu"},
                                                  {o.tp.has_value(), "--tp"},
                                                  {o.dp.has_value(), "--dp"},
                                                  {o.nodes.has_value(), "--nodes"},
                                                  {o.graphs.has_value(), "--graphs"},
                                                  {o.dialect.has_value(), "--dialect"},
                                                  {o.duration.has_value(), "--duration"},
                                                  {o.arrivals.has_value(), "--arrivals"},
                                                  {o.arrival_rate.has_value(), "--arrival-rate"},
                                                  {o.clients.has_value(), "--clients"},
                                                  {o.prompt_tokens.has_value(), "--prompt-tokens"},
                                                  {o.output_tokens.has_value(), "--output-tokens"},
                                                  {o.spec_tokens.has_value(), "--spec-tokens"},
                                                  {o.max_steps.has_value(), "--max-steps"},
                                                  {o.skip_steps.has_value(), "--skip-steps"},
                                                  {o.intensity.has_value(), "--intensity"},
                                                  {o.fault_duration.has_value(), "--fault-duration"},
                                                  {!o.fault_ranks.empty(), "--fault-ranks"},
                                                  {o.no_fault, "--no-fault"},
                                                  {o.prefill_decode, "--prefill-decode"},
                                                  {o.python_frames, "--python-frames"},
                                                  {o.no_operators, "--no-operators"},
                                                  {o.no_request_ids, "--no-request-ids"},
                                                  {o.no_logs, "--no-logs"},
                                                  {o.no_samples, "--no-samples"},
                                                  {o.no_counters, "--no-counters"},
                                                  {o.iteration_log, "--iteration-log"},
                                                  {o.startup, "--startup"},
                                                  {o.no_gzip, "--no-gzip"}};
    for (const auto& [is, name] : given) {
        if (is) return name;
    }
    return {};
}

std::string about_the_fault(const SimulateOptions& o) {
    if (o.no_fault) return "--no-fault";
    if (o.intensity) return "--intensity";
    if (o.fault_duration) return "--fault-duration";
    if (!o.fault_ranks.empty()) return "--fault-ranks";
    return {};
}

/// Scenarios that share the beginning of a word with what was asked for; a few of them.
std::string scenarios_like(std::string_view asked) {
    constexpr std::size_t kLetters = 4, kMost = 4;
    std::string found;
    std::size_t count = 0;
    for (const FaultInfo& info : fault_catalogue()) {
        for (std::size_t at = 0; at + kLetters <= asked.size() && count < kMost; at = std::min(asked.find_first_of("-_ ", at), asked.size() - 1) + 1) {
            const std::size_t place = info.name.find(asked.substr(at, kLetters));
            if (place == std::string_view::npos || (place > 0 && info.name[place - 1] != '-')) continue;
            found += (found.empty() ? "" : ", ") + std::string(info.name);
            ++count;
            break;
        }
    }
    return found;
}

/// Where the command line names no engine: one in which the scenario exists.
Engine engine_for(const FaultInfo& info) {
    for (const Engine engine : {Engine::vllm_v1_online, Engine::sglang, Engine::vllm_v1_offline, Engine::vllm_v0, Engine::fsdp}) {
        if (info.engines >> static_cast<int>(engine) & 1) return engine;
    }
    return Engine::vllm_v1_online;
}

template <class T>
void set(const std::optional<T>& given, T& value) {
    if (given) value = *given;
}

void set_load(const SimulateOptions& options, Workload& load) {
    if (options.arrivals == "bursts") load.arrivals = Arrivals::bursts;
    if (options.arrivals == "closed-loop" || (options.clients && !options.arrivals)) load.arrivals = Arrivals::closed_loop;
    if (options.arrivals == "poisson") load.arrivals = Arrivals::poisson;
    set(options.arrival_rate, load.rate);
    set(options.clients, load.clients);
    set(options.prompt_tokens, load.prompt_median);
    set(options.output_tokens, load.output_median);
    load.prompt_max = std::max(load.prompt_max, 2 * load.prompt_median);
    load.output_max = std::max(load.output_max, 2 * load.output_median);
}

void set_recording(const SimulateOptions& options, RecordingOptions& recording) {
    if (options.python_frames) recording.python = true;
    if (options.no_operators) recording.operators = false;
    if (options.no_request_ids) recording.request_ids = false;
    if (options.no_logs) recording.logs = false;
    if (options.no_samples) recording.samples = false;
    if (options.no_counters) recording.counters = false;
    if (options.iteration_log) recording.iteration_log = true;
    if (options.startup) recording.startup = true;
    set(options.skip_steps, recording.skip_steps);
}

}  // namespace

Result<void> check_combination(const SimulateOptions& o) {
    const bool one_run = !o.scenario.empty() || o.normal;
    if (o.list) {
        if (one_run || !o.campaign.empty() || !o.check.empty() || !o.folder.empty())
            return wrong("--list only lists", "Leave out the other options");
        return {};
    }
    if (!o.check.empty()) {
        if (one_run || !o.campaign.empty())
            return wrong("--check chooses its runs by the captures", "Leave out --scenario, --normal and --campaign");
        if (!o.folder.empty()) return wrong("--check writes no runs", "Leave out -o");
        return {};
    }
    if (o.folder.empty()) return wrong("there is no folder to write to", "Give one with -o DIR, or --list to see the scenarios");
    if (o.normal && !o.scenario.empty())
        return wrong("--normal and --scenario exclude each other", "For the run of a scenario without its fault give --no-fault");
    if (!o.campaign.empty()) {
        if (one_run) return wrong("--campaign chooses its scenarios itself", "Leave out --scenario and --normal");
        if (const std::string option = decided_by_campaign(o); !option.empty()) {
            return wrong(fmt::format("a campaign decides {} for each of its runs", option), fmt::format("Leave out {}", option));
        }
        return {};
    }
    if (o.normal) {
        if (const std::string option = about_the_fault(o); !option.empty()) {
            return wrong(fmt::format("--normal has no fault that {} could be about", option),
                         fmt::format("Leave out {}, or give a --scenario", option));
        }
    }
    if (o.reserved && o.scenario.empty())
        return wrong("--reserved goes with --scenario, --campaign or --list", "Leave it out, or name a reserved scenario");
    return {};
}

Result<void> set_over(const SimulateOptions& options, RunOptions& run) {
    Deployment& d = run.deployment;
    if (options.engine) d.engine = *engine_named(*options.engine);
    if (options.graphs) d.graphs = *graph_mode_named(*options.graphs);
    if (options.dialect) run.recording.dialect = *dialect_named(*options.dialect);
    set(options.model, d.model);
    set(options.gpu, d.gpu);
    set(options.tp, d.tp);
    set(options.dp, d.dp);
    set(options.nodes, d.nodes);
    set(options.spec_tokens, d.spec_tokens);
    set(options.duration, run.duration_s);
    set(options.max_steps, run.max_steps);
    if (options.prefill_decode) d.prefill_decode = true;
    set_load(options, run.workload);
    set_recording(options, run.recording);
    run.seed = options.seed;
    if (model_named(d.model) == nullptr) return wrong(fmt::format("there is no model {}", d.model), "Known are " + names_of(model_cards()));
    if (gpu_named(d.gpu) == nullptr) return wrong(fmt::format("there is no GPU {}", d.gpu), "Known are " + names_of(gpu_cards()));
    return {};
}

Result<SimulationJob> job_of(const SimulateOptions& options) {
    SimulationJob job;
    job.folder = options.folder;
    job.format = format_of(options).value_or(TraceFormat::kineto);
    job.gzip = !options.no_gzip;
    RunOptions& run = job.options;
    if (!options.normal) {
        const std::string_view name = options.scenario.empty() ? kSampleScenario : std::string_view(options.scenario);
        const FaultInfo* info = fault_named(name);
        if (info == nullptr) {
            const std::string like = scenarios_like(name);
            return wrong(fmt::format("there is no scenario {}{}", name, like.empty() ? "" : fmt::format("; like it are {}", like)),
                         "See them all with: faultline simulate --list");
        }
        if (info->reserved && !options.reserved) {
            return wrong(
                fmt::format("the scenario {} is reserved to measure what a model does with the unknown, and never trained on", info->name),
                "Add --reserved to simulate it nevertheless");
        }
        job.fault = FaultChoice{info, !options.no_fault, options.intensity.value_or(1), options.fault_duration,
                                ranks_of(options.fault_ranks).value_or(std::vector<int>{})};
        run.deployment.engine = engine_for(*info);
        while (run.deployment.tp < info->ranks && run.deployment.tp < 8) run.deployment.tp *= 2;
    }
    if (options.scenario.empty()) run.deployment.tp = 2;
    if (auto done = set_over(options, run); !done) return tl::unexpected<Error>(done.error());
    if (auto done = check_engine_has(options, run.deployment.engine); !done) return tl::unexpected<Error>(done.error());
    if (run.deployment.engine == Engine::fsdp) {
        if (!options.tp) run.deployment.tp = std::max(2, run.deployment.tp);
        if (!options.graphs) run.deployment.graphs = GraphMode::none;
    }
    const FaultInfo* info = job.fault ? job.fault->info : nullptr;
    if (job.fault) {
        if (auto done = check_fault_ranks(job.fault->ranks, run.deployment); !done) return tl::unexpected<Error>(done.error());
    }
    if (info != nullptr && options.tp && run.deployment.tp * run.deployment.dp < info->ranks) {
        return wrong(fmt::format("the scenario {} needs {} ranks", info->name, info->ranks),
                     fmt::format("Give --tp {}, or leave out --tp", info->ranks));
    }
    return job;
}

std::optional<TraceFormat> format_of(const SimulateOptions& options) {
    for (const auto& [word, format] : kFormats) {
        if (options.format == word) return format;
    }
    return std::nullopt;
}

std::string_view format_word(TraceFormat format) {
    for (const auto& [word, known] : kFormats) {
        if (known == format) return word;
    }
    return {};
}

void add_simulate_options(CLI::App& command, SimulateOptions& o) {
    command.add_option("-o,--output", o.folder, "The folder to write to, new or empty; a campaign that was stopped goes on in its folder")
        ->type_name("DIR");
    command.add_option("--scenario", o.scenario, "A fault or look-alike, by name or id (see --list)")->type_name("NAME")->group(kWhat);
    command.add_flag("--normal", o.normal, "A run without any fault")->group(kWhat);
    command.add_option("--campaign", o.campaign, "Many runs for training, validation and test, with a manifest.json")
        ->check(CLI::IsMember({"paper", "large"}))
        ->group(kWhat);
    command.add_flag("--reserved", o.reserved, "Allow the kinds that are kept from training; a campaign then holds these alone")
        ->group(kWhat);
    command.add_option("--check", o.check, "Compare these captures or traces of real engines with simulated runs like them")
        ->type_name("CAPTURE")
        ->expected(1, -1)
        ->group(kWhat);
    command.add_flag("--list", o.list, "List the scenarios")->group(kWhat);
    command.add_option("--seed", o.seed, "Same seed and options, same bytes")
        ->type_name("N")
        ->check(check_whole_number)
        ->capture_default_str()
        ->group(kWhat);
    command.add_flag("--no-fault", o.no_fault, "The same run without the fault of its scenario")->group(kFault);
    command.add_option("--intensity", o.intensity, "Factor on the size of the fault")
        ->type_name("X")
        ->check(within(0.001, 100))
        ->group(kFault);
    command.add_option("--fault-duration", o.fault_duration, "How long the fault acts, in seconds")
        ->type_name("SECONDS")
        ->check(within(0.001, 1e6))
        ->group(kFault);
    command.add_option("--fault-ranks", o.fault_ranks, "The ranks that it befalls: 0,2")
        ->type_name("LIST")
        ->check(check_ranks)
        ->group(kFault);
    command.add_option("--engine", o.engine, "The engine")
        ->check(CLI::IsMember({"vllm-v0", "vllm-v1-offline", "vllm-v1-online", "sglang", "fsdp"}))
        ->group(kServed);
    command.add_option("--model", o.model, "The model: " + names_of(model_cards()))->type_name("NAME")->group(kServed);
    command.add_option("--gpu", o.gpu, "The GPU: " + names_of(gpu_cards()))->type_name("NAME")->group(kServed);
    command.add_option("--tp", o.tp, "Tensor-parallel ranks (FSDP: ranks)")->check(CLI::IsMember({1, 2, 4, 8}))->group(kServed);
    command.add_option("--dp", o.dp, "Data-parallel ranks")->type_name("N")->check(CLI::Range(1, 8))->group(kServed);
    command.add_option("--nodes", o.nodes, "Nodes, each with a clock of its own")->check(CLI::IsMember({1, 2}))->group(kServed);
    command.add_option("--graphs", o.graphs, "CUDA graphs")->check(CLI::IsMember({"full", "piecewise", "none"}))->group(kServed);
    command.add_option("--spec-tokens", o.spec_tokens, "Drafts for each request and step")
        ->type_name("N")
        ->check(CLI::Range(0, 8))
        ->group(kServed);
    command.add_flag("--prefill-decode", o.prefill_decode, "One instance for prompts and one for tokens, with KV transfer between them")
        ->group(kServed);
    command.add_option("--duration", o.duration, "Length of the run in seconds")
        ->type_name("SECONDS")
        ->check(within(0.01, 1e6))
        ->group(kLoad);
    command.add_option("--max-steps", o.max_steps, "End after so many steps")
        ->type_name("N")
        ->check(CLI::Range(1, 100'000'000))
        ->group(kLoad);
    command.add_option("--arrivals", o.arrivals, "How requests come")
        ->check(CLI::IsMember({"poisson", "bursts", "closed-loop"}))
        ->group(kLoad);
    command.add_option("--arrival-rate", o.arrival_rate, "Requests a second")->type_name("X")->check(within(0.001, 10'000))->group(kLoad);
    command.add_option("--clients", o.clients, "Clients of a closed loop, requests of an offline batch")
        ->type_name("N")
        ->check(CLI::Range(1, 4096))
        ->group(kLoad);
    command.add_option("--prompt-tokens", o.prompt_tokens, "Median length of a prompt")
        ->type_name("N")
        ->check(CLI::Range(1, 100'000))
        ->group(kLoad);
    command.add_option("--output-tokens", o.output_tokens, "Median length of an output")
        ->type_name("N")
        ->check(CLI::Range(1, 100'000))
        ->group(kLoad);
    command.add_option("--format", o.format, "The format of the traces")
        ->check(CLI::IsMember({"kineto", "nsys", "nsys-older"}))
        ->group(kRecorded);
    command.add_option("--dialect", o.dialect, "What the host side says of its steps")
        ->check(CLI::IsMember({"semantic", "engine", "engine-older", "engine-detailed", "engine-scopes", "none"}))
        ->group(kRecorded);
    command.add_flag("--python-frames", o.python_frames, "Python frames as well")->group(kRecorded);
    command.add_flag("--no-operators", o.no_operators, "No framework operators")->group(kRecorded);
    command.add_flag("--no-request-ids", o.no_request_ids, "No request ids in ranges and log lines")->group(kRecorded);
    command.add_flag("--no-logs", o.no_logs, "No service logs")->group(kRecorded);
    command.add_flag("--no-samples", o.no_samples, "No stack samples")->group(kRecorded);
    command.add_flag("--no-counters", o.no_counters, "No counters of clocks and power")->group(kRecorded);
    command.add_flag("--iteration-log", o.iteration_log, "vLLM's log line for each step")->group(kRecorded);
    command.add_flag("--startup", o.startup, "From the start of the engine, with warm-up and graph capture")->group(kRecorded);
    command.add_option("--skip-steps", o.skip_steps, "Begin the capture after so many steps")
        ->type_name("N")
        ->check(CLI::Range(0, 100'000'000))
        ->group(kRecorded);
    command.add_flag("--no-gzip", o.no_gzip, "Write Kineto traces uncompressed")->group(kRecorded);
    command.add_flag("--json", o.json, "Answer with one JSON document");
    command.add_flag("--progress", o.progress, "Report progress on standard error also where it is no terminal");
}

}  // namespace faultline
