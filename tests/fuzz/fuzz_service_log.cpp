// Any bytes through the importer of service logs: no crash, no hang, one record a line, and times that do not lie before their base.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/source_builder.h"
#include "importers/registry.h"
#include "importers/service_log/log_text.h"
#include "importers/source_file.h"

namespace {

/// The bytes as a file in memory, since importers read files.
std::string memory_file(const std::uint8_t* data, std::size_t size, int& fd) {
    fd = ::memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0) std::abort();
    for (std::size_t at = 0; at < size;) {
        const ssize_t n = ::write(fd, data + at, size - at);
        if (n <= 0) std::abort();
        at += static_cast<std::size_t>(n);
    }
    return "/proc/self/fd/" + std::to_string(fd);
}

void check(bool holds) {
    if (!holds) std::abort();
}

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
    int fd = -1;
    const std::string path = memory_file(data, size, fd);
    {
        Result<std::unique_ptr<SourceFile>> file = SourceFile::open(path);
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
    }
    ::close(fd);
    return 0;
}
