// Any bytes through the importer of stack dump series: no crash, no hang, one record a thread.
#include <cstddef>
#include <cstdint>

#include "core/source_builder.h"
#include "importers/pyspy/dump_series_importer.h"
#include "importers/source_file.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace faultline;
    using faultline::fuzz::check;
    const fuzz::MemoryFile bytes(data, size);
    Result<std::unique_ptr<SourceFile>> file = SourceFile::open(bytes.path());
    check(file.has_value());
    const DumpSeriesImporter importer;
    const Result<std::string_view> head = (*file)->head();
    check(head.has_value());
    check(importer.sniff(*head, "dumps.jsonl") <= 100);
    InternedNames names;
    InternedTexts texts;
    SourceBuilder source(SourceId{1}, {1, 1, 1, 1}, names, texts);
    ImportLedger ledger;
    const Result<void> read = importer.read(**file, source, ledger, {});
    check(read.has_value() || !read.error().sentence.empty());
    check(ledger.totals().read == source.stack_samples.size());
    for (const StackSample& sample : source.stack_samples) check(sample.process.has_value());
    return 0;
}
