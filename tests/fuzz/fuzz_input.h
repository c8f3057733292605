// What the fuzz targets share: a check that ends the program, and the bytes as a file in memory, since importers read files.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace faultline::fuzz {

inline void check(bool holds) {
    if (!holds) std::abort();
}

inline void write_all(int fd, const std::uint8_t* data, std::size_t size) {
    for (std::size_t at = 0; at < size;) {
        const ssize_t n = ::write(fd, data + at, size - at);
        check(n > 0);
        at += static_cast<std::size_t>(n);
    }
}

class MemoryFile {
public:
    MemoryFile(const std::uint8_t* data, std::size_t size) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
        check(fd_ >= 0);
        write_all(fd_, data, size);
    }
    ~MemoryFile() { ::close(fd_); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

private:
    int fd_;
};

}  // namespace faultline::fuzz
