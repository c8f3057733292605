// An input as a stream of buffers: a path or "-" (standard input), inflated where it is gzip (found by its magic, any name).
//
// Reading and inflating have a thread of their own that hands over buffers through a short queue. One consumer thread.
// A gzip input may have several members (RFC 1952 §2.2); what could be inflated of a truncated or damaged one is handed over, and
// trouble() says afterwards what happened. Offsets are those of the inflated data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/result.h"

namespace faultline {

/// What is wrong with an input that could be read in part.
struct SourceTrouble {
    enum class Kind { truncated, damaged, trailing };
    Kind kind = Kind::truncated;
    std::string sentence;      ///< without a full stop
    std::uint64_t offset = 0;  ///< inflated bytes handed over before it
};

class SourceFile {
public:
    /// Bytes before a block's data that its consumer may write to (an unfinished record of the block before goes there).
    static constexpr std::size_t kHeadroom = 256 * 1024;
    /// Bytes after a block's data that may be read and written.
    static constexpr std::size_t kPadding = 128;
    static constexpr std::size_t kBlockBytes = 2 * 1024 * 1024;

    struct Block {
        std::unique_ptr<char[]> storage;
        char* data = nullptr;
        std::size_t size = 0;
        std::uint64_t offset = 0;  ///< of data[0] in the inflated input
    };

    /// Fails where the path cannot be opened or is a folder. Reading starts at once.
    [[nodiscard]] static Result<std::unique_ptr<SourceFile>> open(const std::string& path);
    ~SourceFile();  ///< stops the reading thread; never waits for a slow input
    SourceFile(const SourceFile&) = delete;
    SourceFile& operator=(const SourceFile&) = delete;

    [[nodiscard]] const std::string& path() const noexcept;  ///< as given
    [[nodiscard]] std::string_view name() const noexcept;    ///< without folders; "-" for standard input

    /// The first bytes, inflated, without consuming them (at most one block; all of a shorter input). Waits for them.
    [[nodiscard]] Result<std::string_view> head(std::stop_token stop = {});
    /// The next block into `block`, whose former storage is used again. False at the end. Fails when stopped or on a read error.
    [[nodiscard]] Result<bool> next(Block& block, std::stop_token stop = {});

    /// Size of the input as stored; 0 where it is not known.
    [[nodiscard]] std::uint64_t bytes_total() const noexcept;
    /// Bytes of the input as stored that were read so far.
    [[nodiscard]] std::uint64_t bytes_read() const noexcept;
    [[nodiscard]] bool gzip() const noexcept;
    /// Complete once next() has returned false.
    [[nodiscard]] std::optional<SourceTrouble> trouble() const;

private:
    struct State;
    explicit SourceFile(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace faultline
