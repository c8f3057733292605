// Any bytes through the importer of service logs: no crash, no hang, one record a line, and times that do not lie before their base.
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/source_builder.h"
#include "importers/registry.h"
#include "importers/service_log/log_text.h"
#include "importers/source_file.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

/// What the log is compared with: nothing, or a trace of some minutes and the zone of its host. The first byte chooses.
faultline::ImportContext some_context(const std::uint8_t* data, std::size_t size) {
    faultline::ImportContext context;
    const unsigned choice = size == 0 ? 0 : data[0] % 4u;
    context.modified_wall_ns = 1'780'000'000'000'000'000;
    if (choice >= 1) context.wall = faultline::TimeRange{1'788'198'000'000'000'000, 1'788'198'300'000'000'000};
    if (choice == 2) context.utc_offset_seconds = -34200;
    if (choice == 3) context.time_zone = "+05:45";
    return context;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace faultline;
    using faultline::fuzz::check;
    const fuzz::MemoryFile bytes(data, size);
    Result<std::unique_ptr<SourceFile>> file = SourceFile::open(bytes.path());
    check(file.has_value());
    const Result<std::string_view> head = (*file)->head();
    check(head.has_value());
    const Confidence sure = service_log_importer().sniff(*head, "engine.log");
    check(sure >= 0 && sure <= 100);
    InternedNames names;
    InternedTexts texts;
    SourceBuilder source(SourceId{1}, {1, 1, 1, 1}, names, texts);
    source.context = some_context(data, size);
    ImportLedger ledger;
    const Result<void> read = service_log_importer().read(**file, source, ledger, {});
    check(read.has_value() || !read.error().sentence.empty());
    if (read) check(ledger.totals().read == source.logs.size());
    check(ledger.totals().repaired <= ledger.totals().read);
    for (const LogLine& line : source.logs) {
        check(!line.time || (*line.time >= 0 && line.resolution_ns > 0));
        check(line.text.find_first_of(std::string_view("\0\r\x1b", 3)) == std::string::npos);
    }
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    check(service_log::read_log_text(text, source.context, 0).size() <= size);
    return 0;
}
