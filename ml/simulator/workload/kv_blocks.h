// The paged KV cache of one instance: blocks, and common prefixes that stay in it while nobody needs their room (ENGINES §2.1).
//
// Conserved: used() + free blocks = total(). Blocks of a common prefix count as used while a request refers to them; without one they are free but still warm,
// and the least recently used prefix goes first. One thread.
#pragma once

#include <cstdint>
#include <map>

namespace faultline::simulator {

class KvBlocks {
public:
    KvBlocks(std::int64_t total, int block_size) : total_(total), block_size_(block_size) {}

    /// What one request holds.
    struct Held {
        std::int64_t own = 0;
        int prefix = -1;            ///< group that it refers to
        std::int64_t shared = 0;    ///< blocks of that group
    };

    /// Tokens of a common prefix that are in the cache, whole blocks only.
    [[nodiscard]] int warm_tokens(int prefix) const;
    /// Refers to the warm prefix of a group, for a request that begins with it.
    void share(Held& held, int prefix);
    /// Room for `tokens` in all; false (and nothing changes) where it is not there. `withheld` blocks can be had by nobody.
    [[nodiscard]] bool hold(Held& held, std::int64_t tokens, std::int64_t withheld);
    /// Gives back; the first `prefix_tokens` of a request of that group stay warm.
    void release(Held& held, int prefix, int prefix_tokens);

    [[nodiscard]] std::int64_t total() const { return total_; }
    [[nodiscard]] std::int64_t used() const { return used_; }
    [[nodiscard]] std::int64_t needed(std::int64_t tokens) const { return (tokens + block_size_ - 1) / block_size_; }

private:
    struct Prefix {
        std::int64_t blocks = 0;
        int users = 0;
        std::uint64_t last_use = 0;
    };
    void make_room(std::int64_t blocks);

    std::int64_t total_;
    int block_size_;
    std::int64_t used_ = 0;  ///< own blocks, and those of prefixes with users
    std::int64_t warm_ = 0;  ///< blocks of prefixes without users
    std::uint64_t uses_ = 0;
    std::map<int, Prefix> prefixes_;
};

}  // namespace faultline::simulator
