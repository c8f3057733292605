// The lines of an input, block by block: never more than one line is held. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "importers/source_file.h"

namespace faultline::service_log {

class LineReader {
public:
    static constexpr std::size_t kMaxLine = 1024 * 1024;

    struct Line {
        std::string_view text;     ///< without its line feed, cut after kMaxLine bytes; valid until the next call
        std::uint64_t offset = 0;  ///< of its first byte
        std::uint64_t lost = 0;    ///< bytes that were cut off
    };

    explicit LineReader(SourceFile& file) : file_(file) {}
    /// The next line. False at the end; fails when stopped or on a read error.
    [[nodiscard]] Result<bool> next(Line& line, std::stop_token stop);

private:
    void keep(std::string_view part);

    SourceFile& file_;
    SourceFile::Block block_;
    std::size_t at_ = 0;
    std::string kept_;  ///< the beginning of a line that goes on in the next block
    std::uint64_t kept_offset_ = 0, kept_lost_ = 0;
    bool keeping_ = false, done_ = false;
};

}  // namespace faultline::service_log
