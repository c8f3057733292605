#include "tests/support/two_steps.h"

#include <functional>

#include "core/build_source.h"

namespace faultline::test {

namespace {

class Filling {
public:
    explicit Filling(SourceBuilder& source) : source_(source) {}
    std::uint32_t put(TrackBuffer& track, SpanKind kind, std::string_view name, TimeNs start, TimeNs duration,
                      std::int64_t correlation = kNull) {
        const std::uint32_t at = track.append(start, duration, source_.name(name), kind);
        if (correlation != kNull) track.set(at, Column::correlation, correlation);
        return at;
    }

private:
    SourceBuilder& source_;
};

void fill_step(SourceBuilder& source, TimeNs t, std::int64_t correlation) {
    Filling f(source);
    TrackBuffer& host = source.host_track(source.thread(source.process(100), 100));
    TrackBuffer& device = source.device_track(source.device(0), 7, source.process(100));
    f.put(host, SpanKind::range, "execute_context_0(0)_generation_3(3)", t, 400'000);
    f.put(host, SpanKind::op, "aten::mm", t + 10'000, 90'000);
    f.put(host, SpanKind::runtime_call, "cudaLaunchKernel", t + 20'000, 30'000, correlation);
    f.put(host, SpanKind::runtime_call, "cudaGraphLaunch", t + 200'000, 50'000, correlation + 1);
    const std::uint32_t gemm = f.put(device, SpanKind::kernel, "gemm_bf16", t + 100'000, 300'000, correlation);
    device.set(gemm, Column::args,
               static_cast<std::int64_t>(index_of(source.text(R"({"grid":[8,1,1],"occupancy":{"achieved":0.5},"big":9007199254740993})"))));
    f.put(device, SpanKind::kernel, "attention", t + 500'000, 200'000, correlation + 1);
    f.put(device, SpanKind::kernel, "rms_norm", t + 700'000, 200'000, correlation + 1);
}

bool write(const QString& path, const std::function<void(SourceBuilder&, ImportLedger&)>& fill) {
    auto writer = CaptureWriter::create(path.toStdString());
    if (!writer) return false;
    SourceBuilder source = (*writer)->begin_source();
    source.source.path = "two_steps.json";
    source.source.format = "test";
    source.source.rank = 0;
    source.clock_base_ns = 1'700'000'000'000'000'000;
    ImportLedger ledger;
    fill(source, ledger);
    const StepGrammar grammar = StepGrammar::built_in();
    const LayerRules layers = LayerRules::built_in();
    return build_source(source, **writer, ledger, {grammar, layers, RequestRules::built_in()}, {}) && (*writer)->finish();
}

}  // namespace

bool write_two_steps(const QString& path) {
    return write(path, [](SourceBuilder& source, ImportLedger& ledger) {
        source.thread_row(source.thread(source.process(100), 100)).name = "worker";
        fill_step(source, 0, 10);
        fill_step(source, kSecond, 20);
        TrackBuffer& device = source.device_track(source.device(0), 7, source.process(100));
        Filling(source).put(device, SpanKind::kernel, "orphan", kSecond + 1'000'000, 50'000);
        source.health.push_back({"test.finding", Severity::warning, "Something about the capture that a person should know"});
        ledger.add_read(14);
        ledger.repaired("test.repair", "A record was mended", "byte 11");
        ledger.dropped("test.drop", "A record could not be read", "byte 4711");
    });
}

bool write_host_only(const QString& path) {
    return write(path, [](SourceBuilder& source, ImportLedger& ledger) {
        Filling(source).put(source.host_track(source.thread(source.process(1), 1)), SpanKind::op, "aten::add", 0, 1000);
        ledger.add_read(1);
    });
}

std::shared_ptr<const LoadedCapture> load(const QString& path) {
    auto reader = CaptureReader::open(path.toStdString());
    if (!reader) return nullptr;
    auto capture = std::make_shared<LoadedCapture>();
    capture->path = path.toStdString();
    capture->reader = std::move(*reader);
    auto index = SpanIndex::build(*capture->reader);
    auto launches = LaunchIndex::build(*capture->reader);
    if (!load_rows(*capture->reader, *capture) || !index || !launches) return nullptr;
    capture->index = std::move(*index);
    capture->launches = std::move(*launches);
    return capture;
}

SpanId find_span(const LoadedCapture& capture, std::string_view name) {
    for (const TrackLanes& track : capture.index->tracks())
        for (const Lane& lane : track.lanes)
            for (std::size_t i = 0; i < lane.size(); ++i)
                if (capture.reader->name(lane.names[i]) == name) return SpanId::make(track.track.id, lane.ordinals[i]);
    return {};
}

}  // namespace faultline::test
