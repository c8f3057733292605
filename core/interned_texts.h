// Interning of span names and of attribute texts. One thread.
//
// Names are few and are looked up by id all the time: kept whole in memory. Attribute texts can be many and long (call stacks): they
// leave memory in compressed blocks through a sink as they fill, and the map that finds equal ones is emptied past a bound (a text
// met again afterwards is stored a second time, which costs space, never truth).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "core/types.h"

namespace faultline {

class InternedNames {
public:
    NameId intern(std::string_view text);
    [[nodiscard]] std::string_view text(NameId id) const noexcept { return texts_[index_of(id)]; }
    [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(texts_.size()); }
    /// How many of them already stand in the capture file.
    std::uint32_t stored = 0;

private:
    std::deque<std::string> texts_;  ///< stable addresses
    std::unordered_map<std::string_view, NameId> ids_;
};

/// A block of consecutive texts, zlib-compressed: u32 end offsets (count of them), then the bytes.
struct TextBlock {
    std::uint32_t first_id = 0;
    std::uint32_t count = 0;
    std::uint32_t raw_bytes = 0;
    std::vector<std::byte> compressed;
};

class InternedTexts {
public:
    static constexpr std::size_t kBlockBytes = 64 * 1024;
    static constexpr std::size_t kMapBytes = 64 * 1024 * 1024;  ///< past it the map of known texts starts anew

    /// `next_id` is 1 in a new capture (0 means "no text").
    explicit InternedTexts(std::uint32_t next_id = 1) : next_id_(next_id), block_first_(next_id) {}

    TextId intern(std::string_view text);
    /// Texts stay readable where they hold a JSON key that begins with req or rid: those that may name requests (find_mentions()). All
    /// others leave memory with their block.
    struct Watched {
        TextId id{};
        std::string text;
    };
    static constexpr std::size_t kWatchedBytes = 256 * 1024 * 1024;  ///< what comes after so much is not watched
    [[nodiscard]] const std::vector<Watched>& watched() const noexcept { return watched_; }
    /// Called with each full block, and by flush() with the last.
    std::function<void(TextBlock&&)> sink;
    void flush();

private:
    void close_block();
    void watch(std::string_view text, TextId id);
    std::uint32_t next_id_;
    std::uint32_t block_first_;
    std::vector<std::uint32_t> ends_;
    std::string bytes_;
    std::deque<std::string> known_;
    std::size_t known_bytes_ = 0;
    std::vector<Watched> watched_;
    std::size_t watched_bytes_ = 0;
    std::unordered_map<std::string_view, TextId> ids_;
};

/// The texts of a block, or an error where it is damaged.
[[nodiscard]] Result<std::vector<std::string>> unpack_texts(const TextBlock& block);

}  // namespace faultline
