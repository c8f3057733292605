#include "core/interned_texts.h"

#include <zlib.h>

#include <cstring>

namespace faultline {

NameId InternedNames::intern(std::string_view text) {
    if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
    const NameId id{static_cast<std::uint32_t>(texts_.size())};
    ids_.emplace(texts_.emplace_back(text), id);
    return id;
}

void InternedTexts::watch(std::string_view text, TextId id) {
    constexpr std::string_view kKey = "\"r";
    for (std::string_view rest = text; rest.size() > kKey.size() + 2;) {
        const void* const found = memmem(rest.data(), rest.size(), kKey.data(), kKey.size());
        if (!found) return;
        rest.remove_prefix(static_cast<std::size_t>(static_cast<const char*>(found) - rest.data()) + kKey.size());
        if (!rest.starts_with("eq") && !rest.starts_with("id")) continue;
        if (watched_bytes_ + text.size() > kWatchedBytes) return;
        watched_bytes_ += text.size();
        watched_.push_back({id, std::string(text)});
        return;
    }
}

TextId InternedTexts::intern(std::string_view text) {
    if (text.empty()) return TextId{0};
    if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
    const TextId id{next_id_++};
    bytes_.append(text);
    ends_.push_back(static_cast<std::uint32_t>(bytes_.size()));
    if (known_bytes_ > kMapBytes) {
        ids_.clear();
        known_.clear();
        known_bytes_ = 0;
    }
    ids_.emplace(known_.emplace_back(text), id);
    known_bytes_ += text.size() + 64;  // the text and about what the map needs for it
    if (bytes_.size() >= kBlockBytes) close_block();
    watch(text, id);
    return id;
}

void InternedTexts::flush() {
    if (!ends_.empty()) close_block();
}

void InternedTexts::close_block() {
    const std::size_t table = ends_.size() * sizeof(std::uint32_t);
    std::string raw(table + bytes_.size(), '\0');
    std::memcpy(raw.data(), ends_.data(), table);
    std::memcpy(raw.data() + table, bytes_.data(), bytes_.size());
    TextBlock block;
    block.first_id = block_first_;
    block.count = static_cast<std::uint32_t>(ends_.size());
    block.raw_bytes = static_cast<std::uint32_t>(raw.size());
    uLongf size = compressBound(static_cast<uLong>(raw.size()));
    block.compressed.resize(size);
    // Level 1: texts of a capture repeat so much that higher levels gain little and cost several times the time.
    compress2(reinterpret_cast<Bytef*>(block.compressed.data()), &size, reinterpret_cast<const Bytef*>(raw.data()),
              static_cast<uLong>(raw.size()), 1);
    block.compressed.resize(size);
    ends_.clear();
    bytes_.clear();
    block_first_ = next_id_;
    if (sink) sink(std::move(block));
}

Result<std::vector<std::string>> unpack_texts(const TextBlock& block) {
    const auto damaged = [] {
        return fail(ErrorCode::unusable_input, "a block of attribute texts in the capture is damaged", "Import its sources again");
    };
    constexpr std::uint32_t kMostBytes = 1u << 30;
    if (block.raw_bytes > kMostBytes || std::size_t{block.count} * sizeof(std::uint32_t) > block.raw_bytes) return damaged();
    std::string raw(block.raw_bytes, '\0');
    uLongf size = block.raw_bytes;
    if (uncompress(reinterpret_cast<Bytef*>(raw.data()), &size, reinterpret_cast<const Bytef*>(block.compressed.data()),
                   static_cast<uLong>(block.compressed.size())) != Z_OK ||
        size != block.raw_bytes)
        return damaged();
    const std::size_t table = std::size_t{block.count} * sizeof(std::uint32_t);
    std::vector<std::string> texts;
    texts.reserve(block.count);
    std::uint32_t from = 0;
    for (std::uint32_t i = 0; i < block.count; ++i) {
        std::uint32_t end = 0;
        std::memcpy(&end, raw.data() + std::size_t{i} * sizeof end, sizeof end);
        if (end < from || table + end > raw.size()) return damaged();
        texts.emplace_back(raw, table + from, end - from);
        from = end;
    }
    return texts;
}

}  // namespace faultline
