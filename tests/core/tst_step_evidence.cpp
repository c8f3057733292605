// The parts that evidence is made of: words, cues, the comparison with reference steps, signs, logs and stacks.
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <bit>

#include "core/build_source.h"
#include "core/difference_evidence.h"
#include "core/evidence_texts.h"
#include "core/fault_cues.h"
#include "core/fault_reading.h"
#include "core/step_evidence.h"
#include "core/request_parameters.h"
#include "core/surrounding_evidence.h"
#include "tests/support/step_question.h"

using namespace faultline;
using test::Plant;

namespace {

/// The comparison of a planted step and its signs; the reader outlives them in `q`.
struct Compared {
    test::StepQuestion q;
    std::unique_ptr<NameFamilies> families;
    StepComparison comparison;
    FaultSigns signs;
};

Compared compare(const test::ServiceOptions& options, int position) {
    Compared out;
    out.q = test::ask_about(options);
    if (!out.q.service->reader) return out;
    out.families = std::make_unique<NameFamilies>(*out.q.service->reader);
    auto compared = compare_with_references(*out.q.service->reader, out.q.layers, *out.families, out.q.steps,
                                            out.q.service->analysis.verdicts, out.q.at(position));
    if (!compared) return out;
    out.comparison = std::move(*compared);
    out.signs = fault_signs(out.comparison, out.families->rules());
    return out;
}

Compared compare_planted(Plant what, int ranks = 1) {
    const test::ServiceOptions options = test::planted(what, ranks);
    return compare(options, options.planted[0].step);
}

LogLine line_at(std::int64_t id, TimeNs time, const char* level, const char* text) {
    LogLine line;
    line.id = id;
    line.time = time;
    line.resolution_ns = 1'000;
    line.level = level;
    line.text = text;
    return line;
}

/// Six decode steps of 1 ms; a counter that stands at 0.5 after each but the last, and a stack sample in the last.
std::unique_ptr<CaptureReader> counted_capture(const QTemporaryDir& dir) {
    const std::string path = dir.filePath(QStringLiteral("counted.faultline")).toStdString();
    auto writer = CaptureWriter::create(path);
    if (!writer) return nullptr;
    SourceBuilder source = (*writer)->begin_source();
    source.source.rank = 0;
    TrackBuffer& host = source.host_track(source.thread(source.process(1), 1));
    TrackBuffer& device = source.device_track(source.device(0), 7, source.process(1));
    TrackBuffer& counter = source.counter_track(source.process(1), "KV cache usage");
    for (int i = 0; i < 6; ++i) {
        const TimeNs t = 2'000'000 * i;
        host.append(t, 400'000, source.name("execute_context_0(0)_generation_2(2)"), SpanKind::range);
        host.set(host.append(t + 10'000, 5'000, source.name("cudaLaunchKernel"), SpanKind::runtime_call), Column::correlation, i + 1);
        device.set(device.append(t + 100'000, 900'000, source.name("gemm"), SpanKind::kernel), Column::correlation, i + 1);
        const double value = i == 5 ? 0.99 : 0.5;
        counter.set(counter.append(t + 500'000, 0, source.name("KV cache usage"), SpanKind::counter), Column::value,
                    std::bit_cast<std::int64_t>(value));
    }
    StackSample sample;
    sample.time = 10'050'000;
    sample.stack = "main;step;gc_collect";
    sample.owns_gil = false;
    source.stack_samples.push_back(sample);
    ImportLedger ledger;
    const StepGrammar grammar = StepGrammar::built_in();
    const LayerRules layers = LayerRules::built_in();
    const RequestRules requests = RequestRules::built_in();
    if (!build_source(source, **writer, ledger, {grammar, layers, requests}, {}) || !(*writer)->finish()) return nullptr;
    auto reader = CaptureReader::open(path);
    return reader ? std::move(*reader) : nullptr;
}

}  // namespace

class TestStepEvidence : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void words() {
        QCOMPARE(time_words(999), std::string("999 ns"));
        QCOMPARE(time_words(1'000), std::string("1.00 us"));
        QCOMPARE(time_words(217'000), std::string("217 us"));
        QCOMPARE(time_words(999'900), std::string("1.00 ms"));
        QCOMPARE(time_words(25'000'000), std::string("25.0 ms"));
        QCOMPARE(time_words(3'000'000'000), std::string("3.00 s"));
        QCOMPARE(times_words(1.05), std::string("1.05 times"));
        QCOMPARE(times_words(14.42), std::string("14.4 times"));
        QCOMPARE(count_words(1), std::string("once"));
        QCOMPARE(count_words(2), std::string("twice"));
        QCOMPARE(count_words(2.5), std::string("2.5 times"));
        QCOMPARE(on_rank(3), std::string(" on rank 3"));
        QCOMPARE(on_rank({}), std::string());
        QCOMPARE(first_line("one\ttwo\nthree"), std::string("one two"));
        QCOMPARE(first_line("ääää", 3), std::string("ä…"));  // not inside a character
    }

    void names_are_shortened() {
        QCOMPARE(short_name("void at::native::(anonymous namespace)::indexSelectSmallIndex<float, 2>(int*)"),
                 std::string("at::native::indexSelectSmallIndex"));
        QCOMPARE(
            short_name(
                "std::enable_if<((0)>(0))&&vllm::_typeConvert<c10::Half>::exists, void>::type vllm::fused_add_rms_norm_kernel<int>(int)"),
            std::string("vllm::fused_add_rms_norm_kernel"));
        QCOMPARE(short_name("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)"),
                 std::string("ncclDevKernel_AllReduce_Sum_bf16_RING_LL"));
        QCOMPARE(short_name("execute_context_0(0)_generation_9(9)"), std::string("execute_context_0(0)_generation_9(9)"));
        QCOMPARE(short_name("vllm/utils.py(170): <lambda>"), std::string("vllm/utils.py(170): <lambda>"));
        QCOMPARE(short_name("Memcpy HtoD (Pinned -> Device)"), std::string("Memcpy HtoD (Pinned -> Device)"));
        QCOMPARE(short_name("FSDP::pre_forward (layers.0)"), std::string("FSDP::pre_forward (layers.0)"));
        QCOMPARE(short_name(std::string(200, 'k')), std::string(80, 'k') + "…");
        QCOMPARE(variant_name("void f<128, 64>(int, char)"), std::string("f<128, 64>"));
    }

    void cues() {
        const struct {
            const char* text;
            FaultType type;
        } all[] = {
            {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 384.00 MiB", FaultType::memory_resource},
            {"Sequence group 3 is preempted by PreemptionMode.RECOMPUTE mode", FaultType::memory_resource},
            {"vllm/utils/torch_utils.py(170): make_ndarray_with_pad", FaultType::memory_resource},
            {"CUDA error: an illegal memory access was encountered", FaultType::cuda_kernel},
            {"Triton kernel JIT compilation during inference: f. This causes a latency spike", FaultType::cuda_kernel},
            {"NVRM: Xid (PCI:0000:06:00): 79, GPU has fallen off the bus.", FaultType::runtime_driver},
            {"No available shared memory broadcast block found in 60 seconds", FaultType::runtime_driver},
            {"Watchdog caught collective operation timeout: WorkNCCL(SeqNum=158046)", FaultType::communication_network},
            {"NCCL WARN NET/IB : Got completion from peer", FaultType::communication_network},
            {"Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)", FaultType::scheduling_software},
        };
        for (const auto& e : all) QVERIFY2(fault_cue(e.text) == e.type, e.text);
        QVERIFY(!fault_cue("Engine 000: Avg prompt throughput: 0.0 tokens/s, GPU KV cache usage: 11.2%"));
        QVERIFY(!fault_cue("aten::mm"));
    }

    void a_step_against_its_references() {
        const Compared c = compare_planted(Plant::long_malloc);
        QVERIFY2(c.q.service->reader && c.families, c.q.service->error.c_str());
        QCOMPARE(c.comparison.references.size(), std::size_t{9});
        QVERIFY(!c.comparison.alone);
        QVERIFY(std::abs(c.comparison.extra_ns() - 25'000'000) < 500'000);
        const OperatorDifference& biggest = c.comparison.operators.front();
        QCOMPARE(std::string(c.q.service->reader->name(biggest.name)), std::string("cudaMalloc"));
        QCOMPARE(biggest.count, std::int64_t{1});
        QCOMPARE(biggest.expected_count, 0.0);
        QCOMPARE(biggest.excess_ns, biggest.self_ns);
        QVERIFY(c.comparison.stands_out(biggest, c.signs.least_ns));
        QVERIFY(c.comparison.deviations[*biggest.where].extra);
        QVERIFY(c.signs.most(Sign::allocation) > 24'000'000);
        for (const Sign quiet : {Sign::communication, Sign::module_load, Sign::late_start}) QCOMPARE(c.signs.most(quiet), TimeNs{0});
        QVERIFY(!c.signs.graph_lost && !c.signs.straggler && c.signs.variants.empty() && c.signs.missing.empty() && c.signs.added.empty());
    }

    void waiting_for_slow_kernels_is_no_fault_of_the_host() {
        const Compared c = compare_planted(Plant::slow_kernels);
        QVERIFY2(c.q.service->reader && c.families, c.q.service->error.c_str());
        QVERIFY(c.signs.most(Sign::kernel_time) > 2'000'000);
        QVERIFY(c.signs.most(Sign::synchronization) < c.signs.least_ns);
        QVERIFY(c.signs.most(Sign::copy_call) < c.signs.least_ns);
    }

    void the_rank_with_the_short_collective_is_late() {
        const Compared c = compare_planted(Plant::late_rank, 2);
        QVERIFY2(c.q.service->reader && c.families, c.q.service->error.c_str());
        QVERIFY(c.signs.straggler.has_value());
        QVERIFY(c.signs.ranks[*c.signs.straggler].rank == 1);
        QVERIFY(c.signs.waited_ns > 19'000'000);
        QVERIFY(c.signs.ranks[*c.signs.straggler].of(Sign::late_start) > 19'000'000);
        const Compared link = compare_planted(Plant::slow_link, 2);
        QVERIFY(link.families && !link.signs.straggler);
        QVERIFY(link.signs.shared_communication() > 17'000'000);
    }

    void structure_is_told_apart() {
        const Compared eager = compare_planted(Plant::eager);
        QVERIFY(eager.families && eager.signs.graph_lost);
        const Compared variant = compare_planted(Plant::other_variant);
        QVERIFY(variant.families);
        QCOMPARE(variant.signs.variants.size(), std::size_t{1});
        QVERIFY(variant.signs.missing.empty() && variant.signs.added.empty());
        const Compared missing = compare_planted(Plant::missing_kernels);
        QVERIFY(missing.families && !missing.signs.missing.empty() && missing.signs.variants.empty());
    }

    void every_sign_has_whole_shares() {
        const Compared c = compare_planted(Plant::idle);
        QVERIFY(c.families);
        for (const bool peers_missing : {false, true}) {
            const ReadingInput input{c.comparison, c.signs, c.families->rules(), {}, std::nullopt, peers_missing};
            for (std::size_t s = 0; s < kSigns; ++s) {
                double sum = 0;
                for (const double share : shares_of(static_cast<Sign>(s), input)) sum += share;
                QVERIFY(std::abs(sum - 1) < 1e-12);
            }
        }
    }

    void a_request_that_asks_for_something_else() {
        const auto usual = request_parameters("Received request a: prompt: 'n=9', params: SamplingParams(n=1, stop=[], top_p=0.9), x: None");
        QCOMPARE(usual.size(), std::size_t{3});
        QCOMPARE(usual.at("n"), std::string("1"));
        const auto odd = request_parameters("Receive: sampling_params={'n': 1, 'stop': [], 'top_p': 0.5}");
        const std::vector<OddParameter> found = odd_parameters({usual, odd, usual});
        QCOMPARE(found.size(), std::size_t{1});
        QCOMPARE(found[0].request, std::size_t{1});
        QCOMPARE(found[0].name, std::string("top_p"));
        QCOMPARE(found[0].usual, std::string("0.9"));
        QVERIFY(odd_parameters({usual, odd}).empty());
        QVERIFY(request_parameters("Added request a.").empty());
        QCOMPARE(percent_words(0.765), std::string("77%"));
    }

    void logs_of_a_step() {
        Step step;
        step.id = StepId{7};
        step.start = 1'000'000'000;
        step.end = 1'010'000'000;
        std::vector<LogLine> lines;
        lines.push_back(line_at(1, 900'000'000, "ERROR", "long before"));
        lines.push_back(line_at(2, 1'005'000'000, "WARNING", "in the step"));
        lines.push_back(line_at(3, 1'012'000'000, "ERROR", "CUDA out of memory, a little after"));
        lines.push_back(line_at(4, 1'001'000'000, "INFO", "chatter"));
        lines.push_back(line_at(5, 2'000'000'000, "INFO", "of its request"));
        lines.back().step = step.id;
        lines.back().method = AlignMethod::request;
        lines.back().request = "cmpl-1";
        LogLine no_time = line_at(6, 0, "ERROR", "no time");
        no_time.time.reset();
        lines.push_back(no_time);
        const std::vector<StepLog> found = logs_of_step(lines, step);
        std::vector<std::int64_t> ids;
        for (const StepLog& l : found) ids.push_back(l.line->id);
        QCOMPARE(ids, (std::vector<std::int64_t>{3, 2, 5}));
        QVERIFY(found[0].cue == FaultType::memory_resource);
        QCOMPARE(log_evidence(found[0], 100).weight_ns, TimeNs{100});
        QCOMPARE(log_evidence(found[1], 100).weight_ns, TimeNs{25});
        QCOMPARE(log_evidence(found[2], 100).weight_ns, TimeNs{0});
        QCOMPARE(log_evidence(found[2], 100).sentence,
                 std::string("The log says (INFO) \"of its request\" (names request cmpl-1 of the step)."));
    }

    void counters_and_stacks_are_evidence() {
        const QTemporaryDir dir;
        const auto capture = counted_capture(dir);
        QVERIFY(capture);
        const auto steps = capture->steps();
        const auto samples = capture->stack_samples();
        QVERIFY(steps && steps->size() == 6 && samples && samples->size() == 1);
        Bubble bubble;
        bubble.id = 3;
        bubble.start = steps->back().start;
        bubble.duration = 90'000;
        bubble.step = steps->back().id;
        bubble.device = capture->devices().front().id;
        bubble.stack = samples->front().id;
        const LayerRules layers = LayerRules::built_in();
        const std::vector<Bubble> bubbles{bubble};
        const DiagnosisInput input{*capture, layers, *steps, {}, bubbles, {}, {}};
        const auto evidence = step_evidence(input, steps->back().id);
        QVERIFY2(evidence.has_value(), evidence ? "" : evidence.error().sentence.c_str());
        const auto of = [&](EvidenceKind kind) {
            const auto at = std::find_if(evidence->begin(), evidence->end(), [kind](const Evidence& e) { return e.kind == kind; });
            return at == evidence->end() ? Evidence{} : *at;
        };
        QCOMPARE(
            of(EvidenceKind::counter).sentence,
            std::string(
                "Counter KV cache usage stood at 0.99 at the end of the step; at the ends of the reference steps it stood between 0.5 and "
                "0.5."));
        const auto value = capture->value(SpanId{of(EvidenceKind::counter).id}, Column::value);
        QVERIFY(value && std::bit_cast<double>(*value) == 0.99);
        QCOMPARE(of(EvidenceKind::stack).sentence,
                 std::string("A stack sample under the gap of 90.0 us was in gc_collect, without the interpreter lock."));
        QCOMPARE(of(EvidenceKind::stack).id, samples->front().id);
        QCOMPARE(of(EvidenceKind::bubble).sentence,
                 std::string("Device 0 on rank 0 lay idle for 90.0 us while no host span was recorded (cause: "
                             "unknown); the reference steps have no such gap."));
        const auto usual = step_evidence(input, steps->front().id);
        QVERIFY(usual && usual->size() == 1);  // how long it lasted
    }

    void an_analysis_is_not_needed() {
        // Without verdicts every other step counts as normal, and the durations alone judge.
        const test::ServiceOptions options = test::planted(Plant::long_sync);
        test::StepQuestion q = test::ask_about(options);
        QVERIFY2(q.service->reader, q.service->error.c_str());
        q.service->analysis = {};
        const auto slow = diagnose_by_numbers(q.input(), q.at(options.planted[0].step));
        QVERIFY(slow && slow->abnormal);
        QCOMPARE(slow->fault_type, FaultType::runtime_driver);
        const auto normal = diagnose_by_numbers(q.input(), q.at(options.planted[0].step + 5));
        QVERIFY(normal && !normal->abnormal);
    }
};

QTEST_GUILESS_MAIN(TestStepEvidence)
#include "tst_step_evidence.moc"
