// Any bytes through the importer of Nsight Systems databases: no crash, no hang, and the ledger's rule kept (repaired is part of read).
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/source_builder.h"
#include "importers/nsys/nsys_importer.h"
#include "importers/registry.h"
#include "importers/source_file.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

/// The bytes as a file: a database library opens it by name. Removed when it goes out of scope.
class TemporaryFile {
public:
    TemporaryFile(const std::uint8_t* data, std::size_t size) {
        const int fd = ::mkstemp(path_.data());
        faultline::fuzz::check(fd >= 0);
        faultline::fuzz::write_all(fd, data, size);
        ::close(fd);
    }
    ~TemporaryFile() { ::unlink(path_.c_str()); }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    std::string path_ = "/tmp/faultline-fuzz-XXXXXX";
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace faultline;
    using faultline::fuzz::check;
    const TemporaryFile bytes(data, size);
    Result<std::unique_ptr<SourceFile>> file = SourceFile::open(bytes.path());
    check(file.has_value());
    const Result<std::string_view> head = (*file)->head();
    check(head.has_value());
    const Result<const Importer*> importer = choose_importer(*head, "capture.sqlite", bytes.path());
    check(importer.has_value() || !importer.error().sentence.empty());
    InternedNames names;
    InternedTexts texts;
    SourceBuilder source(SourceId{1}, {1, 1, 1, 1}, names, texts);
    ImportLedger ledger;
    // What the registry refuses is read too: the importer must stand it.
    const Result<void> read = NsysImporter().read(**file, source, ledger, {});
    check(read.has_value() || !read.error().sentence.empty());
    check(ledger.totals().repaired <= ledger.totals().read);
    for (const TrackBuffer& track : source.tracks())
        for (std::uint32_t i = 0; i < track.size(); ++i) check(track.durations[i] >= 0 && track.end(i) >= track.starts[i]);
    return 0;
}
