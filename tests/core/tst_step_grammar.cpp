// Every dialect of step texts, and what a bad rule file says about itself.
#include <QTest>

#include "core/embedded.h"
#include "core/step_grammar.h"

using namespace faultline;

namespace {

using Count = std::optional<std::int64_t>;

struct Expected {
    const char* text;
    const char* dialect;
    StepPhase phase = StepPhase::other;
    Count batch{}, tokens{}, context_requests{}, context_tokens{}, generation_requests{}, generation_tokens{}, number{};
};

QString words(Count c) { return c ? QString::number(*c) : QStringLiteral("none"); }

QString words(const StepText& t) {
    return QStringLiteral("%1 phase %2 batch %3 tokens %4 context %5/%6 generation %7/%8 number %9")
        .arg(QString::fromStdString(std::string(t.dialect)), QString::fromStdString(std::string(phase_name(t.phase))), words(t.batch),
             words(t.tokens), words(t.context_requests), words(t.context_tokens), words(t.generation_requests), words(t.generation_tokens),
             words(t.number));
}

QString words(const Expected& e) {
    StepText t;
    t.dialect = e.dialect;
    t.phase = e.phase;
    t.batch = e.batch;
    t.tokens = e.tokens;
    t.context_requests = e.context_requests;
    t.context_tokens = e.context_tokens;
    t.generation_requests = e.generation_requests;
    t.generation_tokens = e.generation_tokens;
    t.number = e.number;
    return words(t);
}

QString error_of(std::string_view rules) {
    const auto grammar = StepGrammar::load(rules, "my.rules");
    return grammar ? QStringLiteral("no error") : QString::fromStdString(grammar.error().sentence);
}

}  // namespace

class TestStepGrammar : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void the_rules_that_come_along_load() {
        const auto grammar = StepGrammar::load(embedded::kStepRules, "steps.rules");
        QVERIFY2(grammar.has_value(), grammar ? "" : grammar.error().sentence.c_str());
        QVERIFY(grammar->rules().size() >= 25);
        QCOMPARE(grammar->rules().front(), std::string("vllm-0.14"));
    }

    void steps() {
        const StepGrammar grammar = StepGrammar::built_in();
        const Expected all[] = {
            {"execute_context_0(0)_generation_64(64)", "vllm-0.14", StepPhase::decode, 64, 64, 0, 0, 64, 64},
            {"execute_context_2(6144)_generation_3(3)", "vllm-0.14", StepPhase::mixed, 5, 6147, 2, 6144, 3, 3},
            {"execute_context_1(888_788544)_generation_0(0)", "vllm-0.14", StepPhase::prefill, 1, 888, 1, 888, 0, 0},
            {"execute_64_context_0(sq0sk0sqsq0sqsk0)_generation_64(sq64sk131072sqsq64sqsk131072)", "vllm-detailed", StepPhase::decode, 64,
             64, 0, 0, 64, 64},
            {"execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489sqsq37sqsk34489)", "vllm-detailed",
             StepPhase::mixed, 46, 8192, 9, 8155, 37, 37},
            {"execute_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489sqsq37sqsk34489)", "vllm-detailed-bare",
             StepPhase::mixed, 46, 8192, 9, 8155, 37, 37},
            {"execute_64_context_0(0)_generation_64(64)", "vllm-total", StepPhase::decode, 64, 64, 0, 0, 64, 64},
            {"execute_new_1_cached_0", "vllm-0.10", StepPhase::prefill, 1, {}, 1, {}, 0},
            {"execute_new_0_cached_31", "vllm-0.10", StepPhase::decode, 31, {}, 0, {}, 31},
            {"execute_new_2_cached_5", "vllm-0.10", StepPhase::mixed, 7, {}, 2, {}, 5},
            {"Iteration(515): 0 context requests, 0 context tokens, 20 generation requests, 20 generation tokens, iteration elapsed time: "
             "10.99 ms",
             "vllm-iteration", StepPhase::decode, 20, 20, 0, 0, 20, 20, 515},
            {"Iteration(7)", "vllm-iteration-number", StepPhase::other, {}, {}, {}, {}, {}, {}, 7},
            {"step[EXTEND bs=15 toks=15360]", "sglang", StepPhase::prefill, 15, 15360, 15, 15360, 0, 0},
            {"step[DECODE bs=32]", "sglang", StepPhase::decode, 32, 32, 0, 0, 32, 32},
            {"step[decode bs=8]", "sglang", StepPhase::decode, 8, 8, 0, 0, 8, 8},
            {"step[prefill bs=2 toks=300]", "sglang", StepPhase::prefill, 2, 300, 2, 300, 0, 0},
            {"step[mixed bs=12 ext=4096 dec=10]", "sglang-mixed", StepPhase::mixed, 12, 4106, 2, 4096, 10, 10},
            {"step[MIXED bs=12 toks=4106]", "sglang", StepPhase::mixed, 12, 4106},
            {"step[TARGET_VERIFY bs=4 toks=16]", "sglang", StepPhase::decode, 4, 16, 0, 0, 4, 16},
            {"step[IDLE bs=0]", "sglang", StepPhase::other, 0},
            {"step[idle]", "sglang-idle"},
            {"step[DECODE bs=32 c=0 g=32 c_sq=0 c_sqsq=0 c_sqsk=0 c_sk=0 g_sq=128 g_sqsq=512 g_sqsk=9000 g_sk=70000]", "sglang-roofline",
             StepPhase::decode, 32, 128, 0, 0, 32, 128},
            {"step[MIXED bs=3 toks=514 c=2 g=1 c_sq=513 c_sqsq=9 c_sqsk=9 c_sk=9 g_sq=1 g_sqsq=1 g_sqsk=7 g_sk=7]", "sglang-roofline",
             StepPhase::mixed, 3, 514, 2, 513, 1, 1},
            {"prefill[bs=2 tok=14721 ctx=[7803, 6918]]", "atom", StepPhase::prefill, 2, 14721, 2, 14721, 0, 0},
            {"decode[bs=117/128 tok=117 d=117]", "atom", StepPhase::decode, 117, 117, 0, 0, 117, 117},
            {"execute_model step=12 decode tokens=221 batch=9", "key-value", StepPhase::decode, 9, 221, 0, 0, 9, 221, 12},
            {"step=3 prefill tokens=982", "key-value", StepPhase::prefill, {}, 982, {}, 982, {}, {}, 3},
            {"execute_diffusion_1_256x256", "diffusion", StepPhase::other, 1},
            {"execute_context_0(0)_generation_64(64), op_id = 412", "vllm-0.14", StepPhase::decode, 64, 64, 0, 0, 64, 64},
            {"step[DECODE bs=32], seq = 3, op_id = 77, sizes = [[1, 2]]", "sglang", StepPhase::decode, 32, 32, 0, 0, 32, 32},
        };
        for (const Expected& e : all) {
            const auto text = grammar.match(SpanKind::range, e.text);
            QVERIFY2(text.has_value(), e.text);
            QCOMPARE(words(*text), words(e));
            QCOMPARE(text->role, StepRole::step);
        }
    }

    void other_roles() {
        const StepGrammar grammar = StepGrammar::built_in();
        const struct {
            SpanKind kind;
            const char* text;
            StepRole role;
        } all[] = {
            {SpanKind::range, "gpu_model_runner: preprocess", StepRole::begin},
            {SpanKind::range, "gpu_model_runner: forward", StepRole::phase},
            {SpanKind::range, "gpu_model_runner: AsyncGPUModelRunnerOutput", StepRole::phase},
            {SpanKind::range, "Forward", StepRole::phase},
            {SpanKind::range, "Bookkeep", StepRole::phase},
            {SpanKind::range, "schedule: allocate_slots", StepRole::phase},
            {SpanKind::range, "llm_engine step: process_outputs", StepRole::phase},
            {SpanKind::range, "core step: execute_model", StepRole::phase},
            {SpanKind::range, "post process", StepRole::phase},
            {SpanKind::range, "scheduler.run_batch", StepRole::phase},
            {SpanKind::range, "scheduler.disagg_decode.process", StepRole::phase},
            {SpanKind::range, "cuda_graph_runner.replay_prepare", StepRole::phase},
            {SpanKind::range, "FullyShardedDataParallel._post_forward", StepRole::phase},
            {SpanKind::range, "FSDP::pre_forward (layers.0)", StepRole::phase},
            {SpanKind::range, "FSDP::root_pre_forward, op_id = 5", StepRole::phase},
            {SpanKind::range,
             "{'Module': 'model.layers.0.self_attn.qkv_proj', 'TrainableParams': {'weight': [2112, 7168]}, 'Inputs': [[8192, 7168]]}",
             StepRole::phase},
            {SpanKind::range, "capture_32_DECODE", StepRole::capture},
            {SpanKind::range, "capture_8192_PIECEWISE", StepRole::capture},
            {SpanKind::range, "capture_32_FULL", StepRole::capture},
            {SpanKind::range, "capture_4_mixed_prefill", StepRole::capture},
            {SpanKind::range, "ProfilerStep#134", StepRole::outer},
            {SpanKind::op, "ProfilerStep#2", StepRole::outer},
            {SpanKind::op, "ProfilerStep", StepRole::outer},
            {SpanKind::range, "Warm-up Step 5", StepRole::outer},
            {SpanKind::range, "FullyShardedDataParallel.forward", StepRole::outer},
            {SpanKind::python, "vllm/v1/worker/gpu_worker.py(263): execute_model", StepRole::frame},
            {SpanKind::python, "sglang/srt/managers/scheduler.py(2919): run_batch", StepRole::frame},
            {SpanKind::python, "sglang/srt/managers/tp_worker.py(200): forward_batch_generation", StepRole::frame},
            {SpanKind::runtime_call, "cudaGraphLaunch", StepRole::graph},
            {SpanKind::runtime_call, "hipGraphLaunch", StepRole::graph},
            {SpanKind::kernel,
             "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4> >",
             StepRole::sample},
        };
        for (const auto& e : all) {
            const auto text = grammar.match(e.kind, e.text);
            QVERIFY2(text.has_value(), e.text);
            QVERIFY2(text->role == e.role, e.text);
        }
        QCOMPARE(grammar.match(SpanKind::range, "{'Module': 'm', 'Inputs': [[8192, 7168]]}")->tokens, Count(8192));
        QCOMPARE(grammar.match(SpanKind::range, "ProfilerStep#134")->number, Count(134));
    }

    void what_is_no_step() {
        const StepGrammar grammar = StepGrammar::built_in();
        QVERIFY(!grammar.match(SpanKind::range, "my execute_context_1(1)_generation_0(0)"));
        QVERIFY(!grammar.match(SpanKind::range, "nccl:all_reduce"));
        QVERIFY(!grammar.match(SpanKind::range, ""));
        QVERIFY(!grammar.match(SpanKind::op, "aten::mm"));
        QVERIFY(!grammar.match(SpanKind::op, "Optimizer.step#SGD.step"));
        QVERIFY(!grammar.match(SpanKind::python, "execute_context_0(0)_generation_64(64)"));
        QVERIFY(!grammar.match(SpanKind::python, "vllm/worker.py(3): execute_models"));
        QVERIFY(!grammar.match(SpanKind::python, "sglang/scheduler.py(2919): _run_batch_inner"));
        QVERIFY(!grammar.match(SpanKind::device_range, "step[DECODE bs=32]"));
        QVERIFY(!grammar.covers(SpanKind::counter));
        // A number too large for a count is no count, and the text is still recognised.
        const auto huge = grammar.match(SpanKind::range, "step[DECODE bs=99999999999999999999]");
        QVERIFY(huge.has_value());
        QVERIFY(!huge->batch);
    }

    void the_first_rule_wins_and_moves_keep_names() {
        auto loaded = StepGrammar::load("rule a\n match ^s(\\d+)\n number 1\nrule b\n match ^s\n kinds range,op\n", "my.rules");
        QVERIFY(loaded.has_value());
        StepGrammar grammar = std::move(*loaded);
        QCOMPARE(std::string(grammar.match(SpanKind::range, "s5")->dialect), std::string("a"));
        QCOMPARE(std::string(grammar.match(SpanKind::range, "sx")->dialect), std::string("b"));
        QCOMPARE(std::string(grammar.match(SpanKind::op, "s5")->dialect), std::string("b"));
    }

    void bad_rules_say_where_and_why() {
        QCOMPARE(error_of("rule a\n match (\n"), QStringLiteral("my.rules line 2: the pattern is no regular expression: missing ): ("));
        QCOMPARE(error_of("# head\nmatch x\n"), QStringLiteral("my.rules line 2: \"match\" stands before the first \"rule\" line"));
        QCOMPARE(error_of("rule a\n match x\n colour 1\n"), QStringLiteral("my.rules line 3: unknown key \"colour\""));
        QCOMPARE(error_of("rule a\n match x\n kinds range,nap\n"), QStringLiteral("my.rules line 3: unknown span kind \"nap\""));
        QCOMPARE(error_of("rule a\n match x\n tokens 1\n"),
                 QStringLiteral("my.rules line 1: \"tokens\" names group 1, but the pattern of rule \"a\" has 0"));
        QCOMPARE(error_of("rule a\n match x\n tokens one\n"),
                 QStringLiteral("my.rules line 3: \"tokens\" needs the number of a group, not \"one\""));
        QCOMPARE(error_of("rule a\n phase decode\n"), QStringLiteral("my.rules line 1: rule \"a\" has no \"match\" line"));
        QCOMPARE(error_of("rule a\n match x\nrule a\n match y\n"), QStringLiteral("my.rules line 3: rule \"a\" stands already in line 1"));
        QCOMPARE(error_of("rule\n"), QStringLiteral("my.rules line 1: a rule needs a name"));
        QVERIFY(
            error_of("rule a\n match x\n role hero\n").startsWith(QStringLiteral("my.rules line 3: unknown role \"hero\" (step, phase,")));
        QVERIFY(error_of("rule a\n match x\n phase sleeping\n").startsWith(QStringLiteral("my.rules line 3: unknown phase \"sleeping\"")));
        QCOMPARE(error_of("rule a\n match x\n phase from-mode\n"),
                 QStringLiteral("my.rules line 3: \"phase from-mode\" needs the number of a group"));
        QCOMPARE(error_of("rule a\n match x\n decode_tokens 3\n"),
                 QStringLiteral("my.rules line 3: \"decode_tokens\" can only be \"batch\", not \"3\""));
        QCOMPARE(error_of(""), QStringLiteral("no error"));
        QCOMPARE(error_of("rule a # note\r\n match x y # note\r\n\r\n"), QStringLiteral("no error"));
    }
};

QTEST_APPLESS_MAIN(TestStepGrammar)
#include "tst_step_grammar.moc"
