// Any bytes through the Kineto importer: no crash, no hang, and the ledger's rule kept (repaired is part of read).
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/source_builder.h"
#include "importers/registry.h"
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
        const Result<const Importer*> importer = choose_importer(*head, "rank_0.json", path);
        check(importer.has_value() || !importer.error().sentence.empty());
        InternedNames names;
        InternedTexts texts;
        SourceBuilder source(SourceId{1}, {1, 1, 1, 1}, names, texts);
        ImportLedger ledger;
        // What the registry refuses is read too: the importer must stand it.
        const Result<void> read = importers().front()->read(**file, source, ledger, {});
        check(read.has_value() || !read.error().sentence.empty());
        check(ledger.totals().repaired <= ledger.totals().read);
        for (const TrackBuffer& track : source.tracks())
            for (std::uint32_t i = 0; i < track.size(); ++i) check(track.durations[i] >= 0 && track.end(i) >= track.starts[i]);
    }
    ::close(fd);
    return 0;
}
