// Kernels to launches: graphs, missing calls, processes, repeated ids; forward-backward links.
#include <QTest>

#include "core/launch_binding.h"
#include "core/nesting.h"

using namespace faultline;

namespace {

struct Fixture {
    InternedNames names;
    InternedTexts texts;
    SourceBuilder source{SourceId{1}, {1, 1, 1, 1}, names, texts};
    ImportLedger ledger;

    ThreadId thread(int pid) { return source.thread(source.process(pid), pid); }
    void call(int pid, std::int64_t correlation, TimeNs start) {
        TrackBuffer& t = source.host_track(thread(pid));
        t.set(t.append(start, 5, names.intern("cudaLaunchKernel"), SpanKind::runtime_call), Column::correlation, correlation);
    }
    void kernel(std::int64_t correlation, TimeNs start, std::optional<int> pid = {}) {
        TrackBuffer& t = source.device_track(source.device(0), 7, pid ? std::optional(source.process(*pid)) : std::nullopt);
        t.set(t.append(start, 10, names.intern("kernel"), SpanKind::kernel), Column::correlation, correlation);
    }
    BindingCounts run() {
        sort_and_nest(source, ledger, {});
        return bind_launches(source, ledger);
    }
    TrackBuffer& track(TrackKind kind) {
        for (TrackBuffer& t : source.tracks())
            if (t.track.kind == kind) return t;
        return source.tracks().front();
    }
};

}  // namespace

class TestLaunchBinding : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void a_graph_launch_binds_many() {
        Fixture f;
        f.call(1, 42, 0);
        for (int i = 0; i < 5; ++i) f.kernel(42, 100 + 20 * i);
        const BindingCounts counts = f.run();
        QCOMPARE(counts.bound_kernels, std::uint64_t{5});
        QCOMPARE(counts.unbound_kernels, std::uint64_t{0});
        TrackBuffer& host = f.track(TrackKind::host);
        QCOMPARE(host.get(0, Column::graph_launch), std::int64_t{5});
        TrackBuffer& device = f.track(TrackKind::device);
        for (std::uint32_t i = 0; i < 5; ++i) QCOMPARE(device.get(i, Column::launch), SpanId::make(host.track.id, 0).value);
    }

    void a_missing_launch_stays_unbound_and_counted() {
        Fixture f;
        f.call(1, 1, 0);
        f.kernel(1, 50);
        f.kernel(2, 70);
        f.kernel(kNull, 90);
        const BindingCounts counts = f.run();
        QCOMPARE(counts.bound_kernels, std::uint64_t{1});
        QCOMPARE(counts.unbound_kernels, std::uint64_t{2});
        QCOMPARE(f.ledger.entries().front().code, std::string("kernel.unbound"));
        QCOMPARE(f.ledger.entries().front().count, std::uint64_t{2});
    }

    void never_binds_across_processes() {
        Fixture f;
        f.call(1, 5, 0);
        f.call(2, 5, 10);
        f.call(2, 6, 20);
        f.kernel(5, 50, 1);
        f.kernel(6, 70, 1);  // id 6 belongs to process 2
        const BindingCounts counts = f.run();
        QCOMPARE(counts.bound_kernels, std::uint64_t{1});
        QCOMPARE(counts.unbound_kernels, std::uint64_t{1});
        QCOMPARE(f.track(TrackKind::device).get(1, Column::launch), kNull);
    }

    void an_id_of_two_processes_is_ambiguous_where_the_owner_is_unknown() {
        Fixture f;
        f.call(1, 5, 0);
        f.call(2, 5, 10);
        f.call(2, 6, 20);
        f.kernel(5, 50);
        f.kernel(6, 70);
        const BindingCounts counts = f.run();
        QCOMPARE(counts.bound_kernels, std::uint64_t{1});
        QCOMPARE(f.ledger.entries().front().code, std::string("kernel.ambiguous"));
    }

    void a_device_without_a_process_belongs_to_the_one_that_launched_its_work() {
        Fixture f;
        for (int id = 10; id < 20; ++id) {
            f.call(1, id, id * 100);
            f.kernel(id, id * 100 + 50);
        }
        f.call(1, 99, 5'000);
        f.call(2, 99, 5'010);  // the same number in another process
        f.call(2, 7, 5'020);
        f.kernel(99, 5'100);
        f.kernel(7, 5'200);  // process 1 has no call 7: its own was not recorded
        const BindingCounts counts = f.run();
        QCOMPARE(counts.bound_kernels, std::uint64_t{11});
        QCOMPARE(counts.unbound_kernels, std::uint64_t{1});
    }

    void one_call_is_not_believed_to_launch_on_two_devices() {
        Fixture f;
        f.call(1, 5, 0);
        f.call(2, 6, 10);  // process 2 has work on the second device, but its call 5 was not recorded
        f.kernel(5, 50);
        f.source.device_track(f.source.device(1), 7).append(60, 10, f.names.intern("other"), SpanKind::kernel);
        f.source.device_track(f.source.device(1), 7).set(0, Column::correlation, 5);
        const BindingCounts counts = f.run();
        QCOMPARE(counts.bound_kernels, std::uint64_t{0});
        QCOMPARE(counts.unbound_kernels, std::uint64_t{2});
        QCOMPARE(f.ledger.entries().front().code, std::string("kernel.two-devices"));
        QCOMPARE(f.ledger.entries().front().count, std::uint64_t{2});
    }

    void a_repeated_id_binds_to_the_nearest_call_before() {
        Fixture f;
        f.call(1, 9, 1'000'000);
        f.call(1, 9, 9'000'000);
        f.kernel(9, 1'500'000, 1);
        f.kernel(9, 9'500'000, 1);
        f.kernel(9, 8'999'000, 1);  // the device clock is a little behind: the second call is meant
        f.run();
        TrackBuffer& device = f.track(TrackKind::device);
        TrackBuffer& host = f.track(TrackKind::host);
        QCOMPARE(device.get(0, Column::launch), SpanId::make(host.track.id, 0).value);
        QCOMPARE(device.get(1, Column::launch), SpanId::make(host.track.id, 1).value);
        QCOMPARE(device.get(2, Column::launch), SpanId::make(host.track.id, 1).value);
    }

    void links_backward_to_forward() {
        Fixture f;
        const ThreadId forward = f.source.thread(f.source.process(1), 1);
        const ThreadId backward = f.source.thread(f.source.process(1), 2);
        f.source.host_track(forward).append(0, 100, f.names.intern("outer"), SpanKind::op);
        f.source.host_track(forward).append(10, 20, f.names.intern("aten::mm"), SpanKind::op);
        f.source.host_track(backward).append(500, 50, f.names.intern("MmBackward"), SpanKind::op);
        f.source.host_links.push_back({forward, backward, 10, 500});
        f.source.host_links.push_back({forward, backward, 10, 900});
        sort_and_nest(f.source, f.ledger, {});
        bind_host_links(f.source, f.ledger);
        QCOMPARE(f.source.host_track(backward).get(0, Column::link), SpanId::make(f.source.host_track(forward).track.id, 1).value);
        QCOMPARE(f.ledger.entries().front().code, std::string("link.no-operator"));
    }
};

QTEST_APPLESS_MAIN(TestLaunchBinding)
#include "tst_launch_binding.moc"
