// The lines of an input, block by block: never more than one line is held. One thread.
//
// A line ends with a line feed. Carriage returns alone stay inside of it (progress bars are drawn with them), unless the input has no line
// feed near its beginning or a line is longer than kMaxLine: then they end lines too. Zero bytes at the beginning of a line are no text:
// a log that was cut to nothing under its writer goes on behind a hole.
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
        std::uint64_t zeros = 0;   ///< zero bytes before it, which were passed over
    };

    explicit LineReader(SourceFile& file) : file_(file) {}
    /// The next line. False at the end; fails when stopped or on a read error.
    [[nodiscard]] Result<bool> next(Line& line, std::stop_token stop);

private:
    [[nodiscard]] Result<bool> fill(std::stop_token stop);
    void pass_zeros();
    [[nodiscard]] std::size_t end_of(std::string_view rest) const;
    [[nodiscard]] bool keep(std::string_view part, bool ended, Line& line);
    void give(Line& line, std::string_view text, std::uint64_t offset, std::uint64_t lost);

    SourceFile& file_;
    SourceFile::Block block_;
    std::size_t at_ = 0;
    std::string kept_;   ///< the beginning of a line that goes on in the next block
    std::string given_;  ///< the line that was cut off the front of it at a carriage return
    std::uint64_t kept_offset_ = 0, kept_lost_ = 0, zeros_ = 0, end_ = 0;
    bool keeping_ = false, done_ = false;
    bool returns_end_ = false;  ///< a carriage return ends a line
};

}  // namespace faultline::service_log
