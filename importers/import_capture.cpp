#include "importers/import_capture.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>

#include "core/capture_reader.h"
#include "core/capture_writer.h"
#include "core/derive_capture.h"
#include "core/health.h"
#include "importers/input_files.h"
#include "importers/registry.h"
#include "importers/source_file.h"

namespace faultline {

namespace {

void add(BuildSummary& sum, const BuildSummary& part) {
    sum.spans += part.spans;
    sum.kernels += part.kernels;
    sum.api_calls += part.api_calls;
    sum.ranges += part.ranges;
    sum.ops += part.ops;
    sum.bound_kernels += part.bound_kernels;
    sum.unbound_kernels += part.unbound_kernels;
    sum.steps += part.steps;
    sum.logs += part.logs;
}

void add(LedgerTotals& sum, const LedgerTotals& part) {
    sum.read += part.read;
    sum.repaired += part.repaired;
    sum.dropped += part.dropped;
    sum.metadata += part.metadata;
}

/// When a file was last changed (epoch ns); a log without a year gets it from there.
std::optional<std::int64_t> modified_wall_ns(const std::string& path) {
    struct stat info {};
    if (path == "-" || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
    constexpr std::int64_t kSecond = 1'000'000'000;
    return std::int64_t{info.st_mtim.tv_sec} * kSecond + info.st_mtim.tv_nsec;
}

/// Imports input after input into one writer.
class CaptureImport {
public:
    CaptureImport(const ImportRequest& request, CaptureWriter& writer, const BuildRules& rules, const Progress& progress)
        : request_(request), writer_(writer), rules_(rules), progress_(progress) {
        summary_.capture = request.capture;
    }

    /// Finds out what an input is; it is read later.
    Result<void> plan(const InputFile& input) {
        Result<std::unique_ptr<SourceFile>> file = SourceFile::open(input.path);
        if (!file) return tl::unexpected<Error>(file.error());
        if (input.is_log) return keep({std::move(*file), &service_log_importer(), {}});
        const Result<std::string_view> head = (*file)->head(progress_.stop);
        if (!head) return tl::unexpected<Error>(head.error());
        const std::string called = input.path == "-" ? "standard input" : input.path;
        const Result<const Importer*> importer = choose_importer(*head, (*file)->name(), called);
        if (!importer) return input.from_folder ? skip(input, importer.error()) : Result<void>(tl::unexpected<Error>(importer.error()));
        return keep({std::move(*file), *importer, {}});
    }

    /// The traces, then what is placed by comparing with them.
    Result<void> read_all() {
        const bool both = !traces_.empty() && !logs_.empty();
        for (Planned& trace : traces_)
            // Traces and logs that come together are shifted against each other, or the offset would change nothing.
            if (Result<void> ok = read(trace, both ? 0 : request_.clock_offset_ns); !ok) return ok;
        for (Planned& log : logs_)
            if (Result<void> ok = read(log, request_.clock_offset_ns); !ok) return ok;
        return {};
    }

    /// Fails where files of a folder were all of other kinds.
    Result<void> check_found() const {
        if (!summary_.sources.empty()) return {};
        return fail(ErrorCode::unusable_input, fmt::format("none of the {} files can be imported ({})", skipped_, first_skipped_),
                    "Give a folder with PyTorch profiler traces, Nsight Systems databases (.sqlite) or service logs");
    }

    /// Requests, aligned logs and verdicts of all sources together, the new ones and those that were there.
    Result<void> derive() {
        if (Result<void> ok = writer_.settle(); !ok) return ok;
        DerivedRows rows;
        {
            const Result<std::unique_ptr<CaptureReader>> reader = CaptureReader::open(writer_.file());
            if (!reader) return tl::unexpected<Error>(reader.error());
            progress_({ImportPhase::analysis, 0, 0, summary_.ledger.read});
            Result<DerivedRows> derived = derive_capture(**reader, rules_.layers, AnalysisOptions{}, progress_);
            if (!derived) return tl::unexpected<Error>(derived.error());
            rows = std::move(*derived);
            // Steps of several ranks are one each: only the capture as a whole knows how many there are.
            const Result<std::vector<Step>> steps = (*reader)->steps();
            if (!steps) return tl::unexpected<Error>(steps.error());
            summary_.counts.steps = steps->size();
        }
        summary_.requests = rows.requests.size();
        summary_.health.insert(summary_.health.end(), rows.health.begin(), rows.health.end());
        join_health(summary_.health, summary_.counts.kernels > 0);
        return writer_.write_derived(rows);
    }

    ImportSummary& summary() noexcept { return summary_; }

private:
    struct Planned {
        std::unique_ptr<SourceFile> file;  ///< kept open only where it cannot be opened again
        const Importer* importer = nullptr;
        std::string path;
    };

    Result<void> keep(Planned planned) {
        planned.path = planned.file->path();
        if (planned.path != "-") planned.file.reset();
        (planned.importer->info().after_traces ? logs_ : traces_).push_back(std::move(planned));
        return {};
    }

    Result<void> read(Planned& planned, std::int64_t shift_ns) {
        if (!planned.file) {
            Result<std::unique_ptr<SourceFile>> file = SourceFile::open(planned.path);
            if (!file) return tl::unexpected<Error>(file.error());
            planned.file = std::move(*file);
        }
        const Result<void> done = read_source(*planned.file, *planned.importer, shift_ns);
        planned.file.reset();
        return done;
    }

    /// A folder of a run holds files of other kinds too (logs, notes): they are named, not fatal.
    Result<void> skip(const InputFile& input, const Error& why) {
        if (skipped_++ == 0) first_skipped_ = why.sentence;
        summary_.health.push_back({"input.skipped", Severity::info, fmt::format("{} was not imported: {}.", input.path, why.sentence)});
        return {};
    }

    Result<void> read_source(SourceFile& file, const Importer& importer, std::int64_t shift_ns) {
        SourceBuilder source = writer_.begin_source();
        ImportLedger ledger;
        source.source.path = file.path();
        source.source.format = importer.info().name;
        source.context = writer_.context();
        source.context.time_zone = request_.time_zone;
        source.context.modified_wall_ns = modified_wall_ns(file.path());
        source.clock_shift_ns = shift_ns;
        if (Result<void> ok = importer.read(file, source, ledger, progress_); !ok) return ok;
        source.source.bytes = file.bytes_read();
        if (request_.assign_rank) {
            source.source.rank = request_.assign_rank;
            source.source.rank_rule = "given on import (--assign-rank)";
        }
        if (source.source.rank)
            for (const Process& process : source.processes()) source.process_row(process.id).rank = source.source.rank;
        const Result<BuildSummary> built = build_source(source, writer_, ledger, rules_, progress_);
        if (!built) return tl::unexpected<Error>(built.error());
        const LedgerTotals& totals = ledger.totals();
        summary_.sources.push_back({file.path(), source.source.format, totals.read + totals.dropped, source.source.bytes});
        summary_.health.insert(summary_.health.end(), source.health.begin(), source.health.end());
        add(summary_.counts, *built);
        add(summary_.ledger, totals);
        return {};
    }

    const ImportRequest& request_;
    CaptureWriter& writer_;
    const BuildRules& rules_;
    const Progress& progress_;
    ImportSummary summary_;
    std::vector<Planned> traces_, logs_;
    std::size_t skipped_ = 0;
    std::string first_skipped_;
};

}  // namespace

Result<ImportSummary> import_capture(const ImportRequest& request, const BuildRules& rules, const Progress& progress) {
    const auto begin = std::chrono::steady_clock::now();
    constexpr std::int64_t kMostOffset = std::int64_t{1} << 61;  // 73 years: with real times nothing overflows
    if (request.clock_offset_ns > kMostOffset || request.clock_offset_ns < -kMostOffset)
        return fail(ErrorCode::wrong_usage, fmt::format("an offset of {} ns is more than a lifetime", request.clock_offset_ns),
                    "Give --clock-offset-ns in nanoseconds, e.g. 2500000000 for 2.5 s");
    if (request.capture == "-")
        return fail(ErrorCode::wrong_usage, "a capture cannot be written to standard output", "Give the name of a file that ends in .faultline");
    const Result<std::vector<InputFile>> inputs = list_inputs(request.inputs, request.logs);
    if (!inputs) return tl::unexpected<Error>(inputs.error());
    Result<std::unique_ptr<CaptureWriter>> writer =
        request.append ? CaptureWriter::append(request.capture) : CaptureWriter::create(request.capture);
    if (!writer) return tl::unexpected<Error>(writer.error());
    CaptureImport import(request, **writer, rules, progress);
    for (const InputFile& input : *inputs)
        if (Result<void> ok = import.plan(input); !ok) return tl::unexpected<Error>(ok.error());
    if (Result<void> ok = import.read_all(); !ok) return tl::unexpected<Error>(ok.error());
    if (Result<void> ok = import.check_found(); !ok) return tl::unexpected<Error>(ok.error());
    if (progress.stopped()) return fail(ErrorCode::cancelled, "the import was cancelled", "Nothing was written");
    if (Result<void> ok = import.derive(); !ok) return tl::unexpected<Error>(ok.error());
    if (Result<void> ok = (*writer)->finish(); !ok) return tl::unexpected<Error>(ok.error());
    import.summary().seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(import.summary());
}

}  // namespace faultline
