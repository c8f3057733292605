#include "ml/simulator/host/engine_host.h"

#include <algorithm>

#include <fmt/format.h>

namespace faultline::simulator {
namespace {

/// Between processes by ZeroMQ and shared memory.
constexpr TimeNs kMessage = 90'000;
constexpr TimeNs kTokenizePerToken = 900;
constexpr TimeNs kStartLoad = 140'000;  ///< metadata of the blocks to the other side; the blocks come by themselves

}  // namespace

EngineHost::EngineHost(const RunOptions& options, const DeviceModel& device, Names& names, const Noise& noise, TimeNs start)
    : options_(options), device_(device), names_(names), noise_(noise), words_(options, names), paths_(options, names), kit_{options_, words_, paths_, names_} {
    build_places(start);
}

void EngineHost::prepare(Machine& machine) {
    std::vector<StreamIndex> everyone;
    for (InstancePlaces& instance : places_.instances) {
        std::vector<StreamIndex> members;
        const bool sharded = options_.deployment.engine == Engine::fsdp;
        for (const RankPlace& rank : instance.ranks) {
            members.push_back(sharded ? rank.communication : rank.compute);
            everyone.push_back(rank.compute);
        }
        if (members.size() < 2) continue;
        const std::uint16_t group = machine.add_group(members);
        for (RankPlace& rank : instance.ranks) rank.group = group;
    }
    if (!options_.deployment.expert_parallel || places_.instances.size() < 2) return;
    const std::uint16_t group = machine.add_group(everyone);
    for (InstancePlaces& instance : places_.instances) {
        for (RankPlace& rank : instance.ranks) rank.expert_group = group;
    }
}

std::vector<ThreadProgram> EngineHost::end_turn(InstanceIndex instance) {
    ProgramWriter w(kit_, nullptr, 0);
    w.pop(Role::step);
    w.pop_base(BaseFrames::core);
    std::vector<ThreadProgram> programs;
    programs.push_back(thread_program(at(instance).core, ProgramPart::turn_end, instance, -1, w.take()));
    return programs;
}

std::vector<ThreadProgram> EngineHost::idle(InstanceIndex instance, TimeNs until, Machine& machine) {
    const std::uint32_t woken = machine.new_signal();
    machine.set_signal(woken, until);
    ProgramWriter w(kit_, &machine, 0);
    w.push(Role::idle);
    w.wait(Role::idle, woken);
    w.pop(Role::idle);
    std::vector<ThreadProgram> programs;
    programs.push_back(thread_program(at(instance).core, ProgramPart::idle, instance, -1, w.take()));
    return programs;
}

ThreadProgram EngineHost::arrival(const Request& request, std::uint32_t arrived, Machine& machine, double tokenize_factor) {
    remember_ids(request);
    ThreadProgram program;
    program.part = ProgramPart::api;
    program.thread = places_.api;
    program.not_before = request.sent;
    if (places_.api == ThreadIndex::none) return program;
    ProgramWriter w(kit_, &machine, 0);
    w.push(Role::http);
    w.work(Role::http, 180'000);
    write_part(w, Role::tokenize, static_cast<TimeNs>(tokenize_factor * static_cast<double>(90'000 + kTokenizePerToken * request.prompt_tokens)));
    w.work(Role::http, 60'000);
    w.pop(Role::http);
    w.set(arrived, kMessage);
    program.program = w.take();
    return program;
}

ThreadProgram EngineHost::take_over(const Request& request, TimeNs time) {
    ProgramWriter w(kit_, nullptr, 0);
    write_part(w, Role::kv_transfer, kStartLoad);
    ThreadProgram program = thread_program(at(request.instance).transfer, ProgramPart::api, request.instance, -1, w.take());
    program.not_before = time;
    return program;
}

std::vector<ThreadProgram> EngineHost::deliver(int requests, int tokens, TimeNs time, std::uint32_t sent, Machine& machine) {
    std::vector<ThreadProgram> programs;
    if (places_.api == ThreadIndex::none && places_.client == ThreadIndex::none) {
        machine.set_signal(sent, time);
        return programs;
    }
    const auto write = [&](ThreadIndex thread, TimeNs from, Role role, TimeNs cost, std::uint32_t wait_for, std::uint32_t then, TimeNs transport) {
        ProgramWriter w(kit_, &machine, 0);
        if (wait_for != kNoSignal) w.wait(Role::idle, wait_for);
        write_part(w, role, cost);
        w.set(then, transport);
        ThreadProgram program;
        program.thread = thread;
        program.program = w.take();
        program.not_before = from;
        program.part = ProgramPart::api;
        programs.push_back(std::move(program));
    };
    const TimeNs detokenize = 9'000 * requests + 1'500 * tokens, stream = 14'000 * requests;
    if (places_.client != ThreadIndex::none) {
        write(places_.client, time + kMessage, Role::detokenize, detokenize, kNoSignal, sent, 0);
    } else if (places_.detokenizer != ThreadIndex::none) {
        const std::uint32_t text = machine.new_signal();
        write(places_.detokenizer, time + kMessage, Role::detokenize, detokenize, kNoSignal, text, kMessage);
        write(places_.api, time + kMessage, Role::http, stream, text, sent, 0);
    } else {
        write(places_.api, time + kMessage, Role::detokenize, detokenize + stream, kNoSignal, sent, 0);
    }
    return programs;
}

/// Weights come from a disk at a few GB/s; the largest chunk is run once to see what memory it takes; torch.compile takes a while for each layer.
void EngineHost::write_warm_up(ProgramWriter& w, const RankPlace& place) const {
    constexpr double kDiskBytesPerNs = 2.8;
    constexpr TimeNs kImports = 1'200'000'000, kCompileLayer = 170'000'000;
    const Deployment& d = options_.deployment;
    const auto drawn = [&](TimeNs time, std::uint64_t what) {
        return static_cast<TimeNs>(static_cast<double>(time) * (0.8 + 0.5 * noise_.uniform(Draw::start_time, 40 + what)));
    };
    const ModelCard& model = device_.model();
    w.push(Role::warm_up);
    w.work(Role::warm_up, drawn(kImports + static_cast<TimeNs>(static_cast<double>(model.weight_bytes() / std::max(1, d.tp)) / kDiskBytesPerNs), 0));
    for (int i = 0; i < 6; ++i) {
        w.call(Role::module_load, "cuModuleLoadData", 3'500'000);
        w.call(Role::allocate, "cudaMalloc", 900'000);
    }
    const bool compiles = d.graphs != GraphMode::none && (d.engine == Engine::vllm_v1_offline || d.engine == Engine::vllm_v1_online);
    if (compiles) write_part(w, Role::compile, drawn(kCompileLayer * model.layers, 1));
    StepPlan largest;
    ScheduledRequest request;
    request.tokens = d.chunk_tokens;
    request.context = true;
    largest.requests.push_back(request);
    count_tokens(largest);
    largest.kind = StepKind::dummy;
    w.operations(device_.kernels(largest, place).forward);
    w.pop(Role::warm_up);
}

std::vector<ThreadProgram> EngineHost::start_up(Machine& machine) {
    std::vector<ThreadProgram> programs;
    for (const InstancePlaces& instance : places_.instances) {
        std::vector<std::uint32_t> ready;
        for (std::size_t r = 0; r < instance.workers.size(); ++r) {
            ProgramWriter w(kit_, &machine, 0);
            write_warm_up(w, instance.ranks[r]);
            for (const DeviceModel::CapturePhase& phase : device_.captures(instance.ranks[r])) {
                w.push_text(Role::capture, fmt::format("capture_{}_{}", phase.size, phase.mode == GraphMode::full ? "decode" : "PIECEWISE"));
                w.operations(phase.ops);
                w.pop_one(Role::capture);
            }
            ready.push_back(machine.new_signal());
            w.set(ready.back(), kMessage);
            programs.push_back(thread_program(instance.workers[r], ProgramPart::start_up, {}, static_cast<int>(r), w.take()));
        }
        if (instance.core == instance.workers.front()) continue;
        ProgramWriter w(kit_, &machine, 0);
        w.push(Role::rpc_wait);
        for (const std::uint32_t signal : ready) w.wait(Role::rpc_wait, signal);
        w.pop(Role::rpc_wait);
        programs.push_back(thread_program(instance.core, ProgramPart::start_up, {}, -1, w.take()));
    }
    return programs;
}

}  // namespace faultline::simulator
