#include "made_capture.h"

#include <bit>

#include "core/build_source.h"
#include "core/capture_writer.h"

namespace faultline::test {

namespace {

constexpr TimeNs kBase = 1'000;  // the first span; becomes zero of the capture

void add_operator(SourceBuilder& s, TrackBuffer& host, TimeNs t, int number, std::int64_t correlation, bool hidden) {
    host.append(t, 90'000, s.name(number % 2 ? "aten::linear" : "aten::rms_norm"), SpanKind::op);
    host.append(t + 5'000, 70'000, s.name(number % 2 ? "aten::addmm" : "aten::mul"), SpanKind::op);
    const std::uint32_t call = host.append(t + 20'000, 12'000, s.name("cudaLaunchKernel"), SpanKind::runtime_call);
    host.set(call, Column::correlation, correlation);
    const ProcessId process = s.process(4242);
    TrackBuffer& stream = s.device_track(s.device(0), 7, process);
    if (hidden) return;
    const TimeNs late = t + 60'000;
    const std::uint32_t kernel = stream.append(
        late, 80'000, s.name(number % 2 ? "void gemm_bf16<128, 64>(Params)" : "void at::native::rms_norm_kernel<float>(float*, int)"),
        SpanKind::kernel);
    stream.set(kernel, Column::correlation, correlation);
}

void add_step(SourceBuilder& s, int step) {
    const TimeNs t = kBase + step * kStepNs;
    TrackBuffer& host = s.host_track(s.thread(s.process(4242), 4242));
    TimeNs frame = t;
    for (const char* name :
         {"vllm/entrypoints/llm.py(310): generate", "vllm/v1/engine/core.py(201): step", "vllm/v1/executor/abstract.py(88): execute_model",
          "vllm/v1/worker/gpu_worker.py(290): execute_model", "vllm/v1/worker/gpu_model_runner.py(1040): execute_model",
          "torch/nn/modules/module.py(1739): _wrapped_call_impl", "vllm/model_executor/models/qwen3.py(300): forward"}) {
        host.append(frame, t + 3'500'000 - (frame - t) * 2 - frame, s.name(name), SpanKind::python);
        frame += 10'000;
    }
    host.append(t + 200'000, 3'100'000, s.name("execute_context_0(0)_generation_8(8)"), SpanKind::range);
    for (int i = 0; i < kOps; ++i) {
        const TimeNs at = t + 220'000 + i * 150'000;
        const bool hidden = at + 60'000 + 80'000 > kBase + kHole.start && at + 60'000 < kBase + kHole.end;
        add_operator(s, host, at, i, step * 100 + i, hidden);
    }
    TrackBuffer& comm = s.device_track(s.device(0), 13, s.process(4242));
    comm.append(t + 3'000'000, 300'000, s.name("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
                SpanKind::kernel);
    comm.append(t + 3'320'000, 60'000, s.name("Memcpy DtoH (Device -> Pinned)"), SpanKind::memory_copy);
    TrackBuffer& counter = s.counter_track(s.process(4242), "GPU memory");
    const std::uint32_t sample = counter.append(t, 0, s.name("GPU memory"), SpanKind::counter);
    counter.set(sample, Column::value, std::bit_cast<std::int64_t>(1e9 + 1e7 * step));
    s.host_track(s.thread(s.process(4242), 4300)).append(t + 100'000, 500'000, s.name("detokenize"), SpanKind::range);
}

}  // namespace

std::shared_ptr<const LoadedCapture> load_capture(const std::string& path) {
    auto reader = CaptureReader::open(path);
    if (!reader) return nullptr;
    auto loaded = std::make_shared<LoadedCapture>();
    loaded->path = path;
    auto index = SpanIndex::build(**reader);
    auto steps = (*reader)->steps();
    if (!index || !steps) return nullptr;
    loaded->index = *index;
    loaded->steps = *steps;
    loaded->reader = std::move(*reader);
    return loaded;
}

std::shared_ptr<const LoadedCapture> made_capture(const QString& folder) {
    const std::string path = (folder + QLatin1String("/made.faultline")).toStdString();
    auto writer = CaptureWriter::create(path);
    if (!writer) return nullptr;
    {
        SourceBuilder s = (*writer)->begin_source();
        s.source.path = "made.json";
        s.source.format = "test";
        s.source.rank = 0;
        s.clock_base_ns = 1'714'572'187'118'042'000;
        s.process_row(s.process(4242)).name = "EngineCore";
        s.thread_row(s.thread(s.process(4242), 4242)).name = "MainThread";
        s.device_row(s.device(0)).name = "NVIDIA H100 80GB HBM3";
        for (int step = 0; step < kSteps; ++step) add_step(s, step);
        ImportLedger ledger;
        const StepGrammar grammar = StepGrammar::built_in();
        const LayerRules layers = LayerRules::built_in();
        if (!build_source(s, **writer, ledger, {grammar, layers, RequestRules::built_in()}, {})) return nullptr;
    }
    if (!(*writer)->finish()) return nullptr;
    return load_capture(path);
}

TrackLanes made_track(std::uint32_t id, TrackKind kind, const std::vector<TimeRange>& spans, SpanKind span_kind) {
    TrackLanes track;
    track.track.id = TrackId{id};
    track.track.kind = kind;
    track.track.stream = kind == TrackKind::device ? std::optional<std::int64_t>(id) : std::nullopt;
    Lane lane;
    lane.track = TrackId{id};
    for (const TimeRange& span : spans) lane.append(span.start, span.end, NameId{0}, span_kind, static_cast<std::uint32_t>(lane.size()));
    track.track.spans = lane.size();
    track.lanes.push_back(std::move(lane));
    return track;
}

SpanId span_named(const LoadedCapture& capture, SpanKind kind, std::string_view name, std::size_t skip) {
    for (const TrackLanes& track : capture.index->tracks()) {
        for (const Lane& lane : track.lanes) {
            for (std::size_t i = 0; i < lane.size(); ++i) {
                if (lane.kinds[i] != kind || capture.reader->name(lane.names[i]) != name) continue;
                if (skip-- == 0) return SpanPlace{&lane, i}.id();
            }
        }
    }
    return {};
}

}  // namespace faultline::test
