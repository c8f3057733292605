// Stack samples made from ranges: what stands in them, who owns the GIL, and how much is held.
#include <QTest>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "ml/simulator/logs/stack_sampler.h"
#include "ml/simulator/logs/stack_tracks.h"

using namespace faultline;
using namespace faultline::simulator;

namespace {

constexpr TimeNs kMs = 1'000'000;
constexpr TimeNs kStart = 1'796'075'080LL * 1000 * kMs;

struct Kept {
    TimeNs time = 0;
    ThreadIndex thread{};
    bool active = false, owner = false;
    std::vector<std::string> frames;

    [[nodiscard]] bool has(std::string_view text) const {
        return std::any_of(frames.begin(), frames.end(), [&](const std::string& f) { return f.find(text) != std::string::npos; });
    }
};

class Collector final : public Sink {
public:
    void event(const Event&) override { ++events; }
    void log(const LogEntry&) override { ++others; }
    void sample(const StackSampleEvent& s) override {
        samples.push_back({s.time, s.thread, s.active, s.owns_gil, {s.frames.begin(), s.frames.end()}});
    }
    void counter(const CounterEvent&) override { ++others; }
    void gap(const IdleGap&) override { ++others; }

    int events = 0, others = 0;
    std::vector<Kept> samples;
};

enum : std::uint16_t { kApi = 0, kCore = 1, kWorker = 2, kExporter = 3 };

Topology topology_of(Engine engine, bool worker) {
    Topology t;
    t.nodes.push_back({"node-0", {}, 0});
    t.processes.push_back({NodeIndex{0}, ProcessRole::api_server, InstanceIndex{0}, 10, -1, -1, {}});
    t.processes.push_back(
        {NodeIndex{0}, engine == Engine::sglang ? ProcessRole::scheduler : ProcessRole::engine_core, InstanceIndex{0}, 11, 0, -1, {}});
    t.processes.push_back({NodeIndex{0}, worker ? ProcessRole::worker : ProcessRole::other, InstanceIndex{0}, 12, 0, -1, {}});
    t.threads.push_back({ProcessIndex{0}, 10, "MainThread"});
    t.threads.push_back({ProcessIndex{1}, 11, "MainThread"});
    t.threads.push_back({ProcessIndex{2}, 12, "MainThread"});
    t.threads.push_back({ProcessIndex{1}, 13, "OtelBatchSpanRecordProcessor"});
    return t;
}

Event range(std::uint16_t thread, Role role, TimeNs from, TimeNs to) {
    Event e;
    e.kind = EventKind::range;
    e.role = role;
    e.thread = static_cast<ThreadIndex>(thread);
    e.start = kStart + from;
    e.duration = to - from;
    return e;
}

/// A step of 40 ms from `at`, children first as the machine tells them.
void step(Sink& sink, TimeNs at) {
    sink.event(range(kCore, Role::schedule, at, at + 8 * kMs));
    sink.event(range(kCore, Role::rpc, at + 8 * kMs, at + 16 * kMs));
    sink.event(range(kCore, Role::wait_output, at + 16 * kMs, at + 36 * kMs));
    sink.event(range(kCore, Role::step, at, at + 40 * kMs));
}

RunOptions options_of(Engine engine, int tp) {
    RunOptions options;
    options.deployment.engine = engine;
    options.deployment.tp = tp;
    return options;
}

}  // namespace

class TestSimulatorStacks : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void a_stack_is_the_nesting_at_its_tick();
    void waiting_threads_have_no_gil();
    void the_model_runs_below_the_executor_in_one_process();
    void a_worker_shows_the_table_of_penalties();
    void a_collection_shows_its_frame();
    void an_exporter_takes_the_gil();
    void every_engine_has_frames_for_its_roles();
    void long_waits_do_not_pile_up();
    void what_is_held_is_bounded();
};

void TestSimulatorStacks::a_stack_is_the_nesting_at_its_tick() {
    const Topology topology = topology_of(Engine::vllm_v1_online, true);
    Collector out;
    const Names names;
    {
        const auto sampler = make_stack_sampler(options_of(Engine::vllm_v1_online, 2), topology, names, Noise(5), out);
        for (int i = 0; i < 100; ++i) step(*sampler, i * 40 * kMs);
        sampler->log({});
        sampler->counter({});
        sampler->gap({});
    }
    QCOMPARE(out.events, 400);
    QCOMPARE(out.others, 3);
    QVERIFY(out.samples.size() >= 396 && out.samples.size() <= 401);  // 4 s at 100 Hz
    for (const Kept& s : out.samples) {
        const TimeNs in_step = (s.time - kStart) % (40 * kMs);
        QCOMPARE(s.frames.back(), std::string("spawn_main (multiprocessing/spawn.py:122)"));
        QVERIFY(s.has("run_busy_loop (vllm/v1/engine/core.py"));
        QVERIFY(s.has("step (vllm/v1/engine/core.py"));
        const std::string expected = in_step < 8 * kMs    ? "schedule (vllm/v1/core/sched/scheduler.py"
                                     : in_step < 16 * kMs ? "enqueue (vllm/distributed/device_communicators/shm_broadcast.py"
                                     : in_step < 36 * kMs ? "acquire_read (vllm/distributed/device_communicators/shm_broadcast.py"
                                                          : "step (vllm/v1/engine/core.py";
        QVERIFY2(s.frames.front().starts_with(expected), s.frames.front().c_str());
    }
}

void TestSimulatorStacks::waiting_threads_have_no_gil() {
    const Topology topology = topology_of(Engine::vllm_v1_online, true);
    Collector out;
    StackTracks tracks(options_of(Engine::vllm_v1_online, 2), topology, Noise(5));
    tracks.add(range(kWorker, Role::rpc_wait, 0, 500 * kMs), out);
    Event sync = range(kWorker, Role::stream_sync, 600 * kMs, 700 * kMs);
    sync.kind = EventKind::runtime_call;
    tracks.add(sync, out);
    tracks.add(range(kWorker, Role::step, 500 * kMs, 800 * kMs), out);
    tracks.finish(out);
    QVERIFY(out.samples.size() >= 78);
    for (const Kept& s : out.samples) {
        const TimeNs at = s.time - kStart;
        QVERIFY(s.has("worker_busy_loop (vllm/v1/executor/multiproc_executor.py:563)"));
        QCOMPARE(s.owner, (at >= 500 * kMs && at < 600 * kMs) || at >= 700 * kMs);
        QCOMPARE(s.active, at >= 500 * kMs);
        if (at < 500 * kMs) QVERIFY(s.frames.front().starts_with("acquire_read "));
        if (at >= 600 * kMs && at < 700 * kMs) QVERIFY(s.frames.front().starts_with("synchronize (torch/cuda/streams.py"));
    }
}

void TestSimulatorStacks::the_model_runs_below_the_executor_in_one_process() {
    const Topology topology = topology_of(Engine::vllm_v1_online, false);
    Collector out;
    StackTracks tracks(options_of(Engine::vllm_v1_online, 1), topology, Noise(5));
    tracks.add(range(kCore, Role::prepare_inputs, 0, 100 * kMs), out);
    tracks.add(range(kCore, Role::step, 0, 200 * kMs), out);
    tracks.add(range(kCore, Role::rpc, 0, 200 * kMs), out);
    tracks.add(range(kCore, Role::step, 0, 300 * kMs), out);
    tracks.finish(out);
    QVERIFY(out.samples.size() > 25);
    const Kept& s = out.samples.front();
    QVERIFY(s.frames.front().starts_with("_prepare_inputs (vllm/v1/worker/gpu_model_runner.py"));
    QVERIFY(s.has("execute_model (vllm/v1/executor/uniproc_executor.py"));
    QVERIFY(s.has("execute_model (vllm/v1/worker/gpu_model_runner.py"));
    QVERIFY(s.has("step (vllm/v1/engine/core.py"));
}

void TestSimulatorStacks::a_worker_shows_the_table_of_penalties() {
    const Topology topology = topology_of(Engine::vllm_v1_online, true);
    for (const Role role : {Role::sampling_metadata, Role::penalties}) {
        Collector out;
        StackTracks tracks(options_of(Engine::vllm_v1_online, 2), topology, Noise(5));
        tracks.add(range(kWorker, role, 0, 200 * kMs), out);
        tracks.add(range(kWorker, Role::step, 0, 210 * kMs), out);
        tracks.finish(out);
        QVERIFY(!out.samples.empty());
        QVERIFY(out.samples.front().frames.front().starts_with("make_ndarray_with_pad (vllm/utils/"));
        QVERIFY(out.samples.front().owner);
    }
}

void TestSimulatorStacks::a_collection_shows_its_frame() {
    for (const Engine engine : {Engine::vllm_v0, Engine::vllm_v1_online, Engine::sglang}) {
        const Topology topology = topology_of(engine, false);
        Collector out;
        StackTracks tracks(options_of(engine, 1), topology, Noise(5));
        tracks.add(range(kCore, Role::gc, 20 * kMs, 300 * kMs), out);
        tracks.add(range(kCore, Role::schedule, 0, 310 * kMs), out);
        tracks.add(range(kCore, Role::step, 0, 320 * kMs), out);
        tracks.finish(out);
        const auto at = std::find_if(out.samples.begin(), out.samples.end(), [](const Kept& s) { return s.time > kStart + 100 * kMs; });
        QVERIFY(at != out.samples.end());
        QVERIFY2(at->frames.front().find("gc") != std::string::npos, at->frames.front().c_str());
        QVERIFY(at->owner);
        QVERIFY(at->active);
    }
}

void TestSimulatorStacks::an_exporter_takes_the_gil() {
    const Topology topology = topology_of(Engine::vllm_v1_online, true);
    Collector out;
    const Names names;
    {
        const auto sampler = make_stack_sampler(options_of(Engine::vllm_v1_online, 2), topology, names, Noise(5), out);
        for (int i = 0; i < 100; ++i) {
            step(*sampler, i * 40 * kMs);
            if (i == 60) sampler->event(range(kExporter, Role::background, 2000 * kMs, 2400 * kMs));  // told late
            if (i == 61) sampler->event(range(kExporter, Role::wait_output, 2400 * kMs, 2480 * kMs));
        }
    }
    std::map<TimeNs, int> owners;
    int exporting = 0;
    for (const Kept& s : out.samples) {
        owners[s.time] += s.owner ? 1 : 0;
        const TimeNs at = s.time - kStart;
        const bool taken = at >= 2000 * kMs && at < 2400 * kMs;
        if (s.thread == ThreadIndex{kExporter}) {
            ++exporting;
            QVERIFY(taken && s.owner && s.active);
            QVERIFY(s.frames.front().find("opentelemetry") != std::string::npos);
            QVERIFY(s.frames.back().starts_with("_bootstrap (threading.py"));
        } else if (taken) {
            QVERIFY(!s.owner);
        }
    }
    QVERIFY(exporting >= 38 && exporting <= 41);
    for (const auto& [time, count] : owners) QVERIFY(count <= 1);
}

void TestSimulatorStacks::every_engine_has_frames_for_its_roles() {
    for (int engine = 0; engine < kEngineCount; ++engine) {
        const auto e = static_cast<Engine>(engine);
        const FramePlace core{e, FrameSide::core, true, false}, runner{e, FrameSide::runner, true, false},
            front{e, FrameSide::front, true, false};
        for (const Role role : {Role::step, Role::idle, Role::schedule, Role::prepare_inputs, Role::model_forward, Role::sampler,
                                Role::sampling_metadata, Role::penalties, Role::bookkeeping, Role::update_from_output, Role::compute_logits,
                                Role::background, Role::stream_sync, Role::gc})
            QVERIFY2(!role_frames(role, core).empty(), std::string(role_name(role)).c_str());
        QVERIFY(!role_frames(Role::step, runner).empty());
        if (e == Engine::fsdp) continue;
        for (const Role role : {Role::idle, Role::http, Role::tokenize, Role::send_output}) QVERIFY(!role_frames(role, front).empty());
        for (const std::string_view frame : role_frames(Role::prepare_inputs, runner)) {
            QVERIFY(frame.ends_with(")"));
            QVERIFY(frame.find(" (") != std::string_view::npos);
            QVERIFY(frame.rfind(':') > frame.find(" ("));
        }
    }
}

void TestSimulatorStacks::long_waits_do_not_pile_up() {
    const Topology topology = topology_of(Engine::vllm_v1_online, true);
    Collector out;
    StackTracks tracks(options_of(Engine::vllm_v1_online, 2), topology, Noise(5));
    tracks.add(range(kCore, Role::schedule, 0, 10 * kMs), out);
    tracks.add(range(kCore, Role::wait_output, 10 * kMs, 60'000 * kMs), out);
    tracks.add(range(kCore, Role::update_from_output, 60'000 * kMs, 60'010 * kMs), out);
    tracks.add(range(kCore, Role::step, 0, 60'020 * kMs), out);
    tracks.add(range(kCore, Role::idle, 60'020 * kMs, 80'000 * kMs), out);
    tracks.finish(out);
    QVERIFY(out.samples.size() > 7990 && out.samples.size() < 8010);
    for (const Kept& s : out.samples)
        if (s.time < kStart + 60'000 * kMs) QVERIFY(s.has("step (vllm/v1/engine/core.py"));
}

void TestSimulatorStacks::what_is_held_is_bounded() {
    const Topology topology = topology_of(Engine::vllm_v1_online, true);
    Collector out;
    StackTracks tracks(options_of(Engine::vllm_v1_online, 2), topology, Noise(5));
    std::size_t most = 0;
    TimeNs at = 0;
    for (int i = 0; i < 20'000; ++i, at += 4 * kMs) {
        for (int part = 0; part < 4; ++part) tracks.add(range(kCore, Role::schedule, at + part * kMs, at + (part + 1) * kMs), out);
        tracks.add(range(kCore, Role::step, at, at + 4 * kMs), out);
        tracks.add(range(kExporter, Role::background, at, at + kMs / 8), out);
        most = std::max(most, tracks.held());
    }
    QVERIFY2(most < 6'000, std::to_string(most).c_str());  // some two seconds of 1500 ranges each
    // One outermost range that holds more than is kept, and a thread whose main thread says nothing.
    for (int i = 0; i < 200'000; ++i, at += kMs / 4) {
        tracks.add(range(kCore, Role::schedule, at, at + kMs / 4), out);
        tracks.add(range(kExporter, Role::background, at, at + kMs / 8), out);
        most = std::max(most, tracks.held());
    }
    QVERIFY(most <= StackTracks::kMostHeld + StackTracks::kMostBeside + 2);
    const std::size_t samples = out.samples.size();
    tracks.finish(out);
    QVERIFY(samples > 8000);
}

QTEST_APPLESS_MAIN(TestSimulatorStacks)
#include "tst_simulator_stacks.moc"
