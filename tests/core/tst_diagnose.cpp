// Every planted anomaly: the right type or honest alternatives, the planted operator among the first suspects, evidence that exists.
#include <QTest>
#include <algorithm>
#include <set>

#include "core/step_evidence.h"
#include "tests/support/step_question.h"

using namespace faultline;
using test::Plant;

namespace {

/// Whether what a piece of evidence names is in the capture.
bool exists(const test::StepQuestion& q, const Evidence& e) {
    const CaptureReader& capture = *q.service->reader;
    const auto is_step = [&] { return std::any_of(q.steps.begin(), q.steps.end(), [&](const Step& s) { return index_of(s.id) == e.id; }); };
    switch (e.kind) {
        case EvidenceKind::span:
        case EvidenceKind::counter: {
            const SpanId span{e.id};
            const Track* track = span.valid() ? capture.track(span.track()) : nullptr;
            if (!track || span.ordinal() >= track->spans) return false;
            const auto start = capture.value(span, Column::start);
            return start && (e.kind == EvidenceKind::counter || *start == e.start);
        }
        case EvidenceKind::bubble: {
            const auto& all = q.service->analysis.bubbles;
            return std::any_of(all.begin(), all.end(), [&](const Bubble& b) { return b.id == e.id && b.start == e.start; });
        }
        case EvidenceKind::log: return std::any_of(q.logs.begin(), q.logs.end(), [&](const LogLine& l) { return l.id == e.id; });
        case EvidenceKind::stack: {
            const auto samples = capture.stack_samples();
            return samples && std::any_of(samples->begin(), samples->end(), [&](const StackSample& s) { return s.id == e.id; });
        }
        case EvidenceKind::roofline:
        case EvidenceKind::difference: return is_step();
    }
    return false;
}

QString checked(const test::StepQuestion& q, const Diagnosis& d) {
    std::set<std::string> sentences;
    for (std::size_t i = 0; i < d.evidence.size(); ++i) {
        const Evidence& e = d.evidence[i];
        if (!exists(q, e)) return QStringLiteral("not in the capture: ") + QString::fromStdString(e.sentence);
        if (e.sentence.empty() || e.sentence.back() != '.') return QStringLiteral("no sentence: ") + QString::fromStdString(e.sentence);
        if (e.weight_ns < 0) return QStringLiteral("negative weight");
        if (i > 0 && e.weight_ns > d.evidence[i - 1].weight_ns) return QStringLiteral("not biggest first");
        if (!sentences.insert(e.sentence).second) return QStringLiteral("said twice: ") + QString::fromStdString(e.sentence);
    }
    double sum = d.confidence;
    for (const auto& a : d.alternatives) {
        if (a.confidence > d.confidence || a.fault_type == d.fault_type) return QStringLiteral("alternatives are not less probable");
        sum += a.confidence;
    }
    if (d.confidence <= 0 || sum > 1.0001) return QStringLiteral("confidences are no probabilities");
    for (const Suspect& s : d.suspects)
        if (s.score < 0 || s.score > 1 || s.name.empty() || s.layer.empty()) return QStringLiteral("a suspect is incomplete");
    if (d.model != "numbers" || d.missing.empty()) return QStringLiteral("what answered is not said");
    if (d.missing.front().find("learned model") == std::string::npos) return QStringLiteral("the model is not among what is missing");
    return {};
}

bool offers(const Diagnosis& d, FaultType type) {
    return d.fault_type == type ||
           std::any_of(d.alternatives.begin(), d.alternatives.end(), [type](const auto& a) { return a.fault_type == type; });
}

constexpr auto kMemory = FaultType::memory_resource, kKernel = FaultType::cuda_kernel, kDriver = FaultType::runtime_driver,
               kNetwork = FaultType::communication_network, kSoftware = FaultType::scheduling_software;

}  // namespace

class TestDiagnose : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void planted_steps_data() {
        QTest::addColumn<int>("plant");
        QTest::addColumn<int>("ranks");
        QTest::addColumn<int>("type");
        QTest::addColumn<bool>("sure");        // the type itself, else among the alternatives
        QTest::addColumn<QString>("suspect");  // part of the name of one of the first three
        QTest::addColumn<QString>("first");    // part of the first evidence that is not the duration
        const auto row = [](const char* title, Plant plant, int ranks, FaultType type, bool sure, const char* suspect, const char* first) {
            QTest::newRow(title) << static_cast<int>(plant) << ranks << static_cast<int>(type) << sure << suspect << first;
        };
        row("host_stall", Plant::host_stall, 1, kMemory, true, "make_ndarray_with_pad", "gpu_model_runner: sample took 30.0 ms on rank 0");
        row("host_stall, 2 ranks", Plant::host_stall, 2, kMemory, true, "gpu_model_runner: sample",
            "gpu_model_runner: sample took 30.0 ms");
        row("slow_kernels", Plant::slow_kernels, 1, kKernel, true, "nvjet", "kernel names took longer on rank 0");
        row("slow_kernels, 2 ranks", Plant::slow_kernels, 2, kKernel, true, "nvjet", "kernel names took longer");
        row("long_malloc", Plant::long_malloc, 1, kMemory, true, "cudaMalloc", "cudaMalloc took 25.0 ms on rank 0");
        row("long_free, 2 ranks", Plant::long_free, 2, kMemory, true, "cudaFree", "cudaFree took 25.0 ms on rank");
        row("long_sync", Plant::long_sync, 1, kDriver, true, "cudaStreamSynchronize", "cudaStreamSynchronize took 25.0 ms on rank 0");
        row("late_rank", Plant::late_rank, 2, kDriver, false, "execute_context", "Rank 1 began the step 20.0 ms after the first rank");
        row("slow_link", Plant::slow_link, 2, kNetwork, true, "cross_device_reduce", "cross_device_reduce_1stage (6 times) took 18.1 ms");
        row("missing_kernels", Plant::missing_kernels, 1, kSoftware, true, "flash_fwd", "ran only once on rank 0");
        row("eager", Plant::eager, 1, kKernel, true, "cudaLaunchKernel", "launched kernel by kernel on rank 0");
        row("eager, 2 ranks", Plant::eager, 2, kKernel, true, "cudaLaunchKernel", "launched kernel by kernel");
        row("other_variant", Plant::other_variant, 1, kKernel, true, "128, 128, 128", "where the 9 reference steps run");
        row("contradiction", Plant::contradiction, 1, kSoftware, true, "flash_fwd_kernel", "launched kernel by kernel");
    }
    void planted_steps() {
        QFETCH(int, plant);
        QFETCH(int, ranks);
        QFETCH(int, type);
        QFETCH(bool, sure);
        QFETCH(QString, suspect);
        QFETCH(QString, first);
        const test::ServiceOptions options = test::planted(static_cast<Plant>(plant), ranks);
        const test::StepQuestion q = test::ask_about(options);
        QVERIFY2(q.service->reader, q.service->error.c_str());
        const auto d = diagnose_by_numbers(q.input(), q.at(options.planted[0].step));
        QVERIFY2(d.has_value(), d ? "" : d.error().sentence.c_str());
        QVERIFY(d->abnormal);
        if (sure)
            QCOMPARE(d->fault_type, static_cast<FaultType>(type));
        else
            QVERIFY(offers(*d, static_cast<FaultType>(type)) && d->confidence < 0.6 && !d->alternatives.empty());
        const QString wrong = checked(q, *d);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        const auto last = d->suspects.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(3, d->suspects.size()));
        QVERIFY2(std::any_of(d->suspects.begin(), last,
                             [&](const Suspect& s) { return s.name.find(suspect.toStdString()) != std::string::npos; }),
                 d->suspects.empty() ? "no suspect" : d->suspects.front().name.c_str());
        const auto evidence =
            std::find_if(d->evidence.begin(), d->evidence.end(), [](const Evidence& e) { return e.kind != EvidenceKind::roofline; });
        QVERIFY(evidence != d->evidence.end());
        QVERIFY2(evidence->sentence.find(first.toStdString()) != std::string::npos, evidence->sentence.c_str());
        QVERIFY(d->explanation.find(evidence->sentence) != std::string::npos);
        QVERIFY(!d->next.empty());
        const auto alone = step_evidence(q.input(), d->step);
        QVERIFY(alone && alone->size() == d->evidence.size());
    }

    void stalls_data() {
        QTest::addColumn<int>("plant");
        QTest::addColumn<int>("ranks");
        QTest::addColumn<int>("type");
        QTest::addColumn<QString>("suspect");
        QTest::newRow("nothing") << static_cast<int>(Plant::stall) << 1 << static_cast<int>(kSoftware) << QString();
        QTest::newRow("schedule") << static_cast<int>(Plant::empty_schedule) << 1 << static_cast<int>(kSoftware)
                                  << "schedule: allocate_slots";
        QTest::newRow("kernel") << static_cast<int>(Plant::endless_kernel) << 1 << static_cast<int>(kKernel) << "nvjet";
        QTest::newRow("collective") << static_cast<int>(Plant::endless_kernel) << 2 << static_cast<int>(kNetwork) << "cross_device_reduce";
    }
    void stalls() {
        QFETCH(int, plant);
        QFETCH(int, ranks);
        QFETCH(int, type);
        QFETCH(QString, suspect);
        const auto what = static_cast<Plant>(plant);
        const test::StepQuestion q = test::ask_about(test::planted(what, ranks, what == Plant::endless_kernel ? 79 : 40));
        QVERIFY2(q.service->reader, q.service->error.c_str());
        const auto d = diagnose_by_numbers(q.input(), q.stall());
        QVERIFY2(d.has_value(), d ? "" : d.error().sentence.c_str());
        QVERIFY(d->abnormal);
        QVERIFY(offers(*d, static_cast<FaultType>(type)));
        const QString wrong = checked(q, *d);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        if (suspect.isEmpty()) {
            QVERIFY(d->confidence < 0.5);  // nothing is seen, so nothing is sure
            QVERIFY(d->suspects.empty());
        } else {
            QCOMPARE(d->fault_type, static_cast<FaultType>(type));
            QVERIFY(!d->suspects.empty() && d->suspects.front().name.find(suspect.toStdString()) != std::string::npos);
        }
    }

    void normal_steps_are_normal() {
        const test::StepQuestion q = test::ask_about(test::planted(Plant::idle, 2));
        QVERIFY2(q.service->reader, q.service->error.c_str());
        for (const int position : {12, 25, 40, 41, 63}) {
            const auto d = diagnose_by_numbers(q.input(), q.at(position));
            QVERIFY(d.has_value());
            QVERIFY2(!d->abnormal, d->explanation.c_str());
            QCOMPARE(d->fault_type, FaultType::normal);
            QVERIFY(d->suspects.empty() && d->ruled_out.empty() && d->next.empty());
            const QString wrong = checked(q, *d);
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    }

    void reference_steps_judge_where_the_analysis_has_too_few() {
        test::ServiceOptions options;
        options.steps = 12;
        options.planted = {{Plant::long_sync, 8}};
        const test::StepQuestion q = test::ask_about(options);
        QVERIFY2(q.service->reader, q.service->error.c_str());
        const StepVerdict* verdict = q.service->verdict(8);
        QVERIFY(verdict && !verdict->outlier && !verdict->expected_ns);
        const auto d = diagnose_by_numbers(q.input(), q.at(8));
        QVERIFY(d && d->abnormal);
        QCOMPARE(d->fault_type, kDriver);
        QVERIFY2(d->explanation.find("The analysis could not judge it (too few steps); its reference steps do.") != std::string::npos,
                 d->explanation.c_str());
        const auto like = diagnose_by_numbers(q.input(), q.at(9));
        QVERIFY(like && !like->abnormal);
        // The first step is a prefill without any like it.
        const auto first = diagnose_by_numbers(q.input(), q.at(0));
        QVERIFY(first && !first->abnormal && first->confidence <= 0.3);
    }

    void a_late_rank_is_not_its_victims() {
        const test::ServiceOptions options = test::planted(Plant::late_rank, 2);
        const test::StepQuestion q = test::ask_about(options);
        QVERIFY2(q.service->reader, q.service->error.c_str());
        const auto d = diagnose_by_numbers(q.input(), q.at(options.planted[0].step));
        QVERIFY(d.has_value());
        QVERIFY(!offers(*d, kNetwork));
        for (const Suspect& s : d->suspects) {
            QVERIFY(s.rank == 1);
            QVERIFY(s.layer != "comm");
        }
        QVERIFY(std::any_of(d->ruled_out.begin(), d->ruled_out.end(), [](const std::string& s) { return s.find("The network") == 0; }));
    }

    void warnings_of_the_log_count() {
        const test::ServiceOptions options = test::planted(Plant::late_rank, 2);
        test::StepQuestion q = test::ask_about(options);
        QVERIFY2(q.service->reader, q.service->error.c_str());
        const StepId step = q.at(options.planted[0].step);
        const auto before = diagnose_by_numbers(q.input(), step);
        LogLine line;
        line.id = 9'999;
        line.time = q.service->steps[static_cast<std::size_t>(options.planted[0].step)].start + 1'000;
        line.resolution_ns = 1'000;
        line.level = "WARNING";
        line.logger = "dmesg";
        line.text = "NVRM: Xid (PCI:0000:3b:00): 119, Timeout waiting for RPC from GSP!";
        q.logs.push_back(line);
        line.id = 9'998;
        line.text = "a line of another time";
        line.time = *line.time + 3'600'000'000'000;
        q.logs.push_back(line);
        const auto after = diagnose_by_numbers(q.input(), step);
        QVERIFY(before && after);
        QCOMPARE(after->fault_type, kDriver);
        QVERIFY(after->confidence > before->confidence);
        const auto of_log = [](const Evidence& e) { return e.kind == EvidenceKind::log && e.id >= 9'998; };
        QCOMPARE(std::count_if(after->evidence.begin(), after->evidence.end(), of_log), std::ptrdiff_t{1});
        const auto told = std::find_if(after->evidence.begin(), after->evidence.end(), of_log);
        QVERIFY(told->id == 9'999 && told->sentence.find("dmesg says (WARNING) \"NVRM: Xid") == 0);
        const QString wrong = checked(q, *after);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }

    void what_is_missing_is_said() {
        test::ServiceOptions options;
        options.steps = 3;
        options.calls = false;
        const test::StepQuestion q = test::ask_about(options, false);
        QVERIFY2(q.service->reader, q.service->error.c_str());
        const auto d = diagnose_by_numbers(q.input(), q.at(1));
        QVERIFY2(d.has_value(), d ? "" : d.error().sentence.c_str());
        QVERIFY(d->confidence <= 0.7);
        const auto says = [&](std::string_view word) {
            return std::any_of(d->missing.begin(), d->missing.end(),
                               [word](const std::string& s) { return s.find(word) != std::string::npos; });
        };
        QVERIFY(says("Logs:"));
        QVERIFY(says("Stack samples:"));
        QVERIFY(says("Host calls:"));
        QVERIFY(!diagnose_by_numbers(q.input(), StepId{4711}));
        std::stop_source stop;
        stop.request_stop();
        const auto cancelled = diagnose_by_numbers(q.input(), q.at(1), stop.get_token());
        QVERIFY(!cancelled && cancelled.error().code == ErrorCode::cancelled);
    }
};

QTEST_GUILESS_MAIN(TestDiagnose)
#include "tst_diagnose.moc"
