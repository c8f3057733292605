// Steps of a source: by text, by outer range, by frame, by repetition; what belongs to them.
#include <QTest>
#include <random>

#include "../support/steps_fixture.h"

using namespace faultline;
using namespace faultline::test;
using Fixture = StepsFixture;

class TestFindSteps : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void a_text_makes_a_step_that_ends_with_its_last_kernel() {
        Fixture f;
        f.source.process_row(f.source.process(1)).name = "VLLM::Worker_TP0";
        f.source.source.host = "node7";
        f.source.source.rank = 3;
        f.range("execute_context_2(6144)_generation_3(3)", 1000, 2000);
        f.host(SpanKind::op, "aten::mm", 1100, 1200);
        f.launch(1110, {{5000, 5100}, {5100, 5250}});
        f.launch(1900, {{6000, 6500}});
        f.launch(2500, {{7000, 7100}});  // after the step, and no copy of tokens follows
        const FoundSteps found = f.find({}, 40, 10'000);
        QCOMPARE(found.steps.size(), std::size_t{1});
        QVERIFY(!found.inferred);
        const Step& s = found.steps.front();
        QCOMPARE(index_of(s.id), std::int64_t{40});
        QCOMPARE(s.name, std::string("execute_context_2(6144)_generation_3(3)"));
        QCOMPARE(s.dialect, std::string("vllm-0.14"));
        QVERIFY(s.phase == StepPhase::mixed);
        QCOMPARE(s.start, TimeNs{11'000});
        QCOMPARE(s.end, TimeNs{16'500});
        QCOMPARE(s.host_ns, TimeNs{1000});
        QCOMPARE(s.kernels, std::int64_t{3});
        QCOMPARE(s.kernel_busy_ns, TimeNs{750});
        QCOMPARE(s.tokens.value(), std::int64_t{6147});
        QCOMPARE(s.batch.value(), std::int64_t{5});
        QCOMPARE(s.instance, std::string("node7/VLLM::Worker_TP0"));
        QCOMPARE(s.ranks, std::vector<std::int64_t>{3});
        QCOMPARE(s.spans.size(), std::size_t{1});
        QCOMPARE(f.step_at("aten::mm", 1100), std::int64_t{40});
        QCOMPARE(f.step_at("gemm", 5000), std::int64_t{40});
        QCOMPARE(f.step_at("cudaLaunchKernel", 2500), std::int64_t{-1});
        QCOMPARE(f.step_at("gemm", 7000), std::int64_t{-1});
    }

    void busy_time_is_the_union_on_each_device() {
        Fixture f;
        f.range(kDecode, 0, 100);
        f.launch(10, {{200, 300}, {250, 400, "gemm", SpanKind::kernel, 0, 8}, {380, 390, "gemm", SpanKind::kernel, 0, 9}});
        f.launch(20, {{200, 300, "gemm", SpanKind::kernel, 1}});
        f.launch(30, {{450, 460, "Memset (Device)", SpanKind::memory_set}});
        const Step s = f.find().steps.at(0);
        QCOMPARE(s.kernel_busy_ns, TimeNs{200 + 10 + 100});
        QCOMPARE(s.kernels, std::int64_t{4});
    }

    void asynchronous_steps_overlap_and_keep_their_kernels() {
        Fixture f;
        f.range(kDecode, 0, 100);
        f.launch(50, {{60, 500}});
        f.range(kDecode, 100, 200);  // launched while the first still runs
        f.launch(150, {{500, 900}});
        const FoundSteps found = f.find();
        QCOMPARE(ids(found), (std::vector<std::int64_t>{1, 2}));
        QCOMPARE(found.steps[0].end, TimeNs{500});
        QCOMPARE(found.steps[1].start, TimeNs{100});
        QCOMPARE(f.step_at("gemm", 500), std::int64_t{2});
    }

    void nested_texts_are_one_step_with_all_counts() {
        Fixture f;
        f.range("execute_15360_context_15(sq15360sk15360sqsq15728640sqsk15728640)_generation_0(sq0sk0sqsq0sqsk0)", 0, 1000);
        f.range("step[EXTEND bs=15 toks=15360]", 500, 900);
        f.launch(100, {{1100, 1200}});  // before the inner text opens
        f.launch(600, {{1200, 1300}});
        const FoundSteps found = f.find();
        QCOMPARE(found.steps.size(), std::size_t{1});
        QVERIFY(found.steps[0].phase == StepPhase::prefill);
        QCOMPARE(found.steps[0].batch.value(), std::int64_t{15});
        QCOMPARE(found.steps[0].tokens.value(), std::int64_t{15360});
        QCOMPARE(found.steps[0].kernels, std::int64_t{2});
        QCOMPARE(found.steps[0].spans.size(), std::size_t{2});
    }

    void of_nested_texts_the_outermost_with_counts_wins() {
        Fixture f;
        f.range("Iteration(7)", 0, 1000);  // a number, but no counts
        f.range(kDecode, 100, 400);
        f.range(kDecode, 500, 900);
        f.range("step[idle]", 2000, 2100);
        const FoundSteps found = f.find();
        QCOMPARE(found.steps.size(), std::size_t{3});
        QCOMPARE(found.steps[0].start, TimeNs{100});
        QCOMPARE(found.steps[1].start, TimeNs{500});
        QCOMPARE(found.steps[2].name, std::string("step[idle]"));
    }

    void phases_alone_make_no_step() {
        Fixture f;
        f.range("Forward", 0, 100);
        f.range("gpu_model_runner: forward", 200, 300);
        f.launch(10, {{20, 30}});
        QVERIFY(f.find().steps.empty());
        QCOMPARE(f.step_at("Forward", 0), std::int64_t{-1});
    }

    void the_sampler_after_the_text_belongs_to_the_step_until_the_copy_of_its_tokens() {
        Fixture f;
        for (const TimeNs t : {TimeNs{0}, TimeNs{10'000}}) {
            f.range(kDecode, t, t + 1000);
            f.launch(t + 10, std::vector<Fixture::Work>(20, {t + 2000, t + 2000}));
            f.launch(t + 1200, {{t + 3000, t + 3100, "argmax"}});
            f.copy_out(t + 1300, t + 3100, t + 3150);
            f.launch(t + 1400, {{t + 3200, t + 3300, "next batch"}});
        }
        const FoundSteps found = f.find();
        QCOMPARE(found.steps.size(), std::size_t{2});
        QCOMPARE(found.steps[0].kernels, std::int64_t{21});
        QCOMPARE(found.steps[0].end, TimeNs{3150});
        QCOMPARE(found.steps[0].host_ns, TimeNs{1305});
        QCOMPARE(f.step_at("argmax", 13'000), std::int64_t{2});
        QCOMPARE(f.step_at("next batch", 3200), std::int64_t{-1});
    }

    void a_text_that_holds_its_copy_is_not_extended() {
        Fixture f;
        f.range(kDecode, 0, 1000);
        f.launch(10, {{2000, 2100}});
        f.copy_out(900, 2100, 2150);
        f.copy_out(1500, 3000, 3100);
        const Step s = f.find().steps.at(0);
        QCOMPARE(s.end, TimeNs{2150});
        QCOMPARE(s.host_ns, TimeNs{1000});
    }

    void an_outer_range_is_a_step_only_where_nothing_inside_is() {
        Fixture f;
        f.range("ProfilerStep#1", 0, 1000);
        f.range(kDecode, 100, 200);
        f.range("ProfilerStep#2", 1000, 2000);
        f.launch(1100, {{1200, 1300}});
        const FoundSteps found = f.find();
        QCOMPARE(found.steps.size(), std::size_t{2});
        QCOMPARE(found.steps[0].dialect, std::string("vllm-0.14"));
        QCOMPARE(found.steps[1].dialect, std::string("torch-profiler"));
        QCOMPARE(found.steps[1].number.value(), std::int64_t{2});
        QVERIFY(!found.steps[1].inferred);
    }

    void work_of_other_threads_belongs_to_the_step_of_its_process() {
        Fixture f;
        f.range("ProfilerStep#1", 0, 1000);
        f.host(SpanKind::op, "autograd", 90, 500, 1, 2);
        f.launch(100, {{1200, 1300}}, 1, 2);
        f.host(SpanKind::op, "before", -50, 60, 1, 3);  // open when the step starts
        f.launch(10, {{1300, 1400}}, 1, 3);
        f.launch(20, {{1500, 1600, "gemm", SpanKind::kernel, 1}}, 2, 9);  // another process
        f.launch(30, {{1400, 1450}});
        f.host(SpanKind::runtime_call, "cudaEventQuery", 50, 60, 1, 4);  // a watchdog launches nothing
        const FoundSteps found = f.find();
        QCOMPARE(found.steps.at(0).kernels, std::int64_t{3});
        QCOMPARE(f.step_at("autograd", 90), std::int64_t{1});
        QCOMPARE(f.step_at("before", -50), std::int64_t{-1});
        QCOMPARE(f.step_at("cudaEventQuery", 50), std::int64_t{-1});
        QCOMPARE(f.step_at("gemm", 1500), std::int64_t{-1});
    }

    void collectives_on_threads_of_their_own_belong_to_the_step() {
        Fixture f;
        f.range("ProfilerStep#1", 0, 1000);
        f.range("gloo:all_reduce", 100, 5000, 1, 2);
        f.range("gloo:all_reduce", 6000, 7000, 1, 2);
        f.range("poll", 200, 300, 1, 2);
        for (TrackBuffer& t : f.source.tracks())
            for (std::uint32_t i = 0; i < t.size(); ++i)
                if (f.names.text(t.names[i]).starts_with("gloo")) t.add_flag(i, flag_collective);
        QCOMPARE(f.find().steps.size(), std::size_t{1});
        QCOMPARE(f.step_at("gloo:all_reduce", 100), std::int64_t{1});
        QCOMPARE(f.step_at("gloo:all_reduce", 6000), std::int64_t{-1});
        QCOMPARE(f.step_at("poll", 200), std::int64_t{-1});
    }

    void an_outer_row_of_its_own_process_reaches_all() {
        Fixture f;
        f.host(SpanKind::op, "ProfilerStep#1", 0, 1000, 77, 0);
        f.launch(100, {{1200, 1300}}, 1, 2);
        const FoundSteps found = f.find();
        QCOMPARE(found.steps.at(0).kernels, std::int64_t{1});
        QCOMPARE(found.steps.at(0).end, TimeNs{1300});
    }

    void frames_of_one_call_are_one_inferred_step() {
        Fixture f;
        for (const TimeNs t : {TimeNs{0}, TimeNs{1000}, TimeNs{2000}}) {
            f.host(SpanKind::python, "vllm/v1/worker/gpu_worker.py(263): execute_model", t, t + 900);
            f.host(SpanKind::python, "vllm/v1/worker/gpu_model_runner.py(1002): execute_model", t + 10, t + 890);
            if (t < 2000) f.launch(t + 100, {{t + 200, t + 300}});  // the last step has nothing to do
        }
        f.host(SpanKind::python, "vllm/v1/executor/abstract.py(80): execute_model", 0, 5000, 1, 8);  // hands on, launches nothing
        const FoundSteps found = f.find();
        QCOMPARE(found.steps.size(), std::size_t{3});
        QVERIFY(found.inferred);
        QVERIFY(found.steps[0].inferred);
        QCOMPARE(found.steps[0].dialect, std::string("python-execute-model"));
        QCOMPARE(found.steps[0].spans.size(), std::size_t{2});
        QCOMPARE(found.steps[2].kernels, std::int64_t{0});
        QVERIFY(f.noted("steps.inferred"));
    }

    void texts_keep_frames_from_being_steps() {
        Fixture f;
        f.host(SpanKind::python, "vllm/v1/worker/gpu_worker.py(263): execute_model", 0, 900);
        f.range(kDecode, 10, 800);
        const FoundSteps found = f.find();
        QCOMPARE(found.steps.size(), std::size_t{1});
        QVERIFY(!found.inferred);
    }

    void a_capture_of_graphs_has_no_step() {
        Fixture f;
        f.range("ProfilerStep#134", 0, 1000);
        f.range("capture_32_DECODE", 100, 900);
        f.host(SpanKind::python, "sglang/srt/managers/tp_worker.py(20): forward_batch_generation", 200, 800);
        f.launch(300, {{400, 500}});
        QVERIFY(f.find().steps.empty());
        QVERIFY(f.noted("steps.capture-only"));
        QVERIFY(!f.noted("steps.inferred"));
    }

    void whole_step_graphs_are_counted_where_nothing_else_tells() {
        Fixture f;
        for (int i = 0; i < 3; ++i) {
            const TimeNs t = 10'000 * i;
            f.launch(t + 100, {{t + 200, t + 210, "prepare"}});
            std::vector<Fixture::Work> nodes;
            for (int k = 0; k < 100; ++k) nodes.push_back({t + 300 + 10 * k, t + 305 + 10 * k});
            f.launch(t + 150, nodes, 1, 1, "cudaGraphLaunch");
            f.launch(t + 1400, {{t + 1500, t + 1600, "cast"}});
            f.copy_out(t + 1450, t + 1600, t + 1700);
        }
        const FoundSteps found = f.find();
        QCOMPARE(found.steps.size(), std::size_t{3});
        QVERIFY(found.inferred);
        QCOMPARE(found.steps[1].dialect, std::string("graph-launch"));
        QCOMPARE(found.steps[1].start, TimeNs{10'100});
        QCOMPARE(found.steps[1].end, TimeNs{11'700});
        QCOMPARE(found.steps[1].kernels, std::int64_t{102});
    }

    void sampling_counts_steps_of_eager_decoding() {
        Fixture f;
        for (int i = 0; i < 4; ++i) {
            const TimeNs t = 100'000 * i;
            for (int k = 0; k < 50; ++k) f.launch(t + 10 * k, {{t + 10 * k + 20, t + 10 * k + 25}});
            f.launch(t + 600, {{t + 700, t + 710, "_gumbel_sample_kernel"}});
            f.launch(t + 610, {{t + 710, t + 720, "reduce_kernel<ArgMaxOps<float>>"}});
        }
        const FoundSteps found = f.find();
        QCOMPARE(found.steps.size(), std::size_t{4});
        QCOMPARE(found.steps[0].dialect, std::string("sampling-kernel"));
        for (const Step& s : found.steps) QCOMPARE(s.kernels, std::int64_t{52});
    }

    void scopes_that_open_a_step_count_without_texts() {
        Fixture f;
        for (const TimeNs t : {TimeNs{0}, TimeNs{1000}}) {
            f.range("gpu_model_runner: preprocess", t, t + 50);
            f.range("gpu_model_runner: forward", t + 50, t + 500);
            f.launch(t + 60, {{t + 100, t + 700}});
        }
        const FoundSteps found = f.find();
        QCOMPARE(found.steps.size(), std::size_t{2});
        QCOMPARE(found.steps[0].dialect, std::string("vllm-scope-first"));
        QCOMPARE(f.step_at("gpu_model_runner: forward", 1050), std::int64_t{2});
    }

    void annotations_of_an_unknown_engine_that_repeat_are_steps() {
        Fixture f;
        for (int i = 0; i < 4; ++i) {
            const TimeNs t = 10'000 * i;
            f.range("my_engine round " + std::to_string(i), t, t + 5000);
            f.range("inner", t + 100, t + 4000);
            f.launch(t + 200, {{t + 300, t + 6000}});
            f.range("other", t + 6000, t + 6100);
        }
        const FoundSteps found = f.find();
        QCOMPARE(found.steps.size(), std::size_t{4});
        QVERIFY(found.inferred);
        QCOMPARE(found.steps[3].name, std::string("my_engine round 3"));
        QCOMPARE(found.steps[3].dialect, std::string("repeated-range"));
        QCOMPARE(found.steps[3].kernels, std::int64_t{1});
        QCOMPARE(found.steps[3].spans.size(), std::size_t{1});
    }

    void repeated_kernels_without_any_launch_are_steps_by_time() {
        Fixture f;
        for (int i = 0; i < 5; ++i) {
            const TimeNs t = 100'000 * i;
            f.unlaunched(t, t + 5, "embedding");
            for (int k = 1; k <= 36; ++k) {
                f.unlaunched(t + 100 * k, t + 100 * k + 50, "gemm");
                f.unlaunched(t + 100 * k + 50, t + 100 * k + 90, "attention");
            }
        }
        const FoundSteps found = f.find();
        QCOMPARE(found.steps.size(), std::size_t{5});
        QCOMPARE(found.steps[0].dialect, std::string("kernel-sequence"));
        QCOMPARE(found.steps[4].kernels, std::int64_t{73});
        QCOMPARE(found.steps[4].host_ns, TimeNs{0});
        QCOMPARE(f.step_at("embedding", 400'000), std::int64_t{5});
    }

    void work_that_does_not_repeat_makes_no_step() {
        Fixture f;
        std::mt19937 random(7);
        for (int k = 0; k < 400; ++k) f.launch(10 * k, {{10 * k + 1, 10 * k + 5, "kernel " + std::to_string(random() % 20)}});
        QVERIFY(f.find().steps.empty());
        Fixture empty;
        QVERIFY(empty.find().steps.empty());
        Fixture layers;  // one forward pass of equal layers is no repetition of steps
        layers.launch(0, {{1, 5, "embedding"}});
        for (int k = 0; k < 36; ++k) layers.launch(10 * k + 10, {{10 * k + 11, 10 * k + 12, "gemm"}});
        QVERIFY(layers.find().steps.empty());
    }
};

QTEST_APPLESS_MAIN(TestFindSteps)
#include "tst_find_steps.moc"
