#include "importers/nsys/spooled_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace faultline::nsys {

namespace {

bool is_plain_file(const SourceFile& file) {
    struct stat info {};
    return file.path() != "-" && !file.gzip() && ::stat(file.path().c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

Error cannot_write(const std::string& path) {
    return {ErrorCode::unwritable_output,
            fmt::format("a temporary copy of the input cannot be written to {} ({})", path, std::strerror(errno)),
            "Free some space, or name a folder with more of it in TMPDIR"};
}

bool write_all(int fd, const char* data, std::size_t size) {
    while (size > 0) {
        const ssize_t n = ::write(fd, data, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        data += n;
        size -= static_cast<std::size_t>(n);
    }
    return true;
}

Result<void> copy(SourceFile& file, int fd, const std::string& path, const Progress& progress) {
    SourceFile::Block block;
    for (;;) {
        const Result<bool> more = file.next(block, progress.stop);
        if (!more) return tl::unexpected<Error>(more.error());
        if (!*more) return {};
        if (!write_all(fd, block.data, block.size)) return tl::unexpected<Error>(cannot_write(path));
        progress({ImportPhase::reading, file.bytes_read(), file.bytes_total(), 0});
    }
}

}  // namespace

Result<SpooledFile> SpooledFile::of(SourceFile& file, const Progress& progress) {
    // Whether it is gzip is known once its first bytes are.
    if (const Result<std::string_view> head = file.head(progress.stop); !head) return tl::unexpected<Error>(head.error());
    if (is_plain_file(file)) return SpooledFile(file.path(), false);
    const char* const folder = std::getenv("TMPDIR");
    std::string path = fmt::format("{}/faultline-input-XXXXXX", folder != nullptr && *folder != '\0' ? folder : "/tmp");
    const int fd = ::mkstemp(path.data());
    if (fd < 0) return tl::unexpected<Error>(cannot_write(path));
    SpooledFile spooled(path, true);
    const Result<void> copied = copy(file, fd, path, progress);
    ::close(fd);
    if (!copied) return tl::unexpected<Error>(copied.error());
    return spooled;
}

SpooledFile::SpooledFile(SpooledFile&& other) noexcept : path_(std::move(other.path_)), remove_(std::exchange(other.remove_, false)) {}

SpooledFile::~SpooledFile() {
    if (remove_) ::unlink(path_.c_str());
}

}  // namespace faultline::nsys
