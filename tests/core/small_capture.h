// A capture of a few spans made by hand, for tests of the analysis: written, built and read back.
#pragma once

#include <QTemporaryDir>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/build_source.h"
#include "core/capture_reader.h"
#include "core/capture_writer.h"
#include "core/span_index.h"

namespace faultline::test {

class SmallCapture {
public:
    /// Puts spans on one host thread and on streams of one device. Times in ns.
    class Fill {
    public:
        explicit Fill(SourceBuilder& of) : source(of) {}
        void host(SpanKind kind, std::string_view name, TimeNs start, TimeNs end, std::int64_t correlation = kNull,
                  std::int64_t tid = 100) {
            put(source.host_track(source.thread(source.process(100), tid)), kind, name, start, end, correlation);
        }
        void device(SpanKind kind, std::string_view name, TimeNs start, TimeNs end, std::int64_t correlation = kNull,
                    std::int64_t stream = 7) {
            put(source.device_track(source.device(0), stream, source.process(100)), kind, name, start, end, correlation);
        }
        void flag_last_device(SpanFlag flag, std::int64_t stream = 7) {
            TrackBuffer& track = source.device_track(source.device(0), stream, source.process(100));
            track.add_flag(track.size() - 1, flag);
        }
        void stack(std::string text, TimeNs at) {
            StackSample sample;
            sample.id = static_cast<std::int64_t>(source.stack_samples.size()) + 1;
            sample.time = at;
            sample.process = source.process(100);
            sample.thread = source.thread(source.process(100), 100);
            sample.stack = std::move(text);
            source.stack_samples.push_back(std::move(sample));
        }
        SourceBuilder& source;

    private:
        void put(TrackBuffer& track, SpanKind kind, std::string_view name, TimeNs start, TimeNs end, std::int64_t correlation) {
            const std::uint32_t at = track.append(start, end - start, source.name(name), kind);
            if (correlation != kNull) track.set(at, Column::correlation, correlation);
        }
    };

    explicit SmallCapture(const std::function<void(Fill&)>& fill) {
        const std::string path = folder_.filePath(QStringLiteral("small.faultline")).toStdString();
        auto writer = CaptureWriter::create(path);
        if (!writer) return;
        SourceBuilder source = (*writer)->begin_source();
        source.source.path = "small.json";
        source.source.format = "test";
        source.source.rank = 0;
        ImportLedger ledger;
        Fill filling(source);
        fill(filling);
        const StepGrammar grammar = StepGrammar::built_in();
        const LayerRules layers = LayerRules::built_in();
        const RequestRules requests = RequestRules::built_in();
        if (!build_source(source, **writer, ledger, {grammar, layers, requests}, {}) || !(*writer)->finish()) return;
        auto opened = CaptureReader::open(path);
        if (!opened) return;
        reader = std::move(*opened);
        auto built = SpanIndex::build(*reader);
        if (built) index = *built;
    }

    [[nodiscard]] bool good() const { return reader && index; }
    [[nodiscard]] std::string name(SpanId span) const {
        if (!span.valid()) return {};
        const auto value = reader->value(span, Column::name);
        return value ? std::string(reader->name(NameId{static_cast<std::uint32_t>(*value)})) : std::string();
    }

    std::unique_ptr<CaptureReader> reader;
    std::shared_ptr<const SpanIndex> index;

private:
    QTemporaryDir folder_;
};

}  // namespace faultline::test
