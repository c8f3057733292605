// The paged KV cache of one instance: blocks, and common prefixes that requests share from the moment they are computed, and that stay while nobody
// needs their room (ENGINES §2.1, §2.5).
//
// Conserved: used() + warm() + withheld() <= total(), always; the rest is empty. Blocks of a common prefix count as used while a request refers to
// them; without one they are warm, and go from the end of the prefix that was used longest ago. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace faultline::simulator {

class KvBlocks {
public:
    KvBlocks(std::int64_t total, int block_size) : total_(total), block_size_(block_size) {}

    /// What one request holds: the first `shared` blocks of a group's prefix, and `own` ones behind them.
    struct Held {
        std::int64_t own = 0;
        int prefix = -1;
        std::int64_t shared = 0;
    };

    /// Tokens of a common prefix that are in the cache, whole blocks only.
    [[nodiscard]] int cached_tokens(int prefix) const;
    /// Refers to the first `tokens` of a group's prefix, for a request that holds nothing yet. pre: tokens <= cached_tokens(prefix)
    void share(Held& held, int prefix, std::int64_t tokens);
    /// The first `tokens` of a request of that group are computed: from now on others find them, in whole blocks.
    void publish(Held& held, int prefix, std::int64_t tokens);
    /// Room for `tokens` in all; false (and nothing changes) where it is not there.
    [[nodiscard]] bool hold(Held& held, std::int64_t tokens);
    void release(Held& held);
    /// So many blocks can be had by nobody; those in use are taken as soon as they come back.
    void withhold(std::int64_t blocks);

    [[nodiscard]] std::int64_t total() const { return total_; }
    [[nodiscard]] std::int64_t used() const { return used_; }
    [[nodiscard]] std::int64_t warm() const { return warm_; }
    [[nodiscard]] std::int64_t withheld() const { return withheld_; }
    /// What hold() can give: empty blocks and warm ones.
    [[nodiscard]] std::int64_t available() const { return total_ - used_ - withheld_; }
    [[nodiscard]] std::int64_t needed(std::int64_t tokens) const { return (tokens + block_size_ - 1) / block_size_; }
    /// Blocks that hold() would take for `tokens` in all.
    [[nodiscard]] std::int64_t missing(const Held& held, std::int64_t tokens) const;

private:
    struct Prefix {
        std::int64_t blocks = 0;     ///< in the cache
        std::int64_t used = 0;       ///< the first of them, that requests refer to
        std::vector<int> referring;  ///< requests by the number of blocks that they refer to
        std::uint64_t last_use = 0;
    };
    void refer(Prefix& prefix, std::int64_t blocks);
    void leave(Prefix& prefix, std::int64_t blocks);
    void evict(std::int64_t blocks);
    void settle();

    std::int64_t total_;
    int block_size_;
    std::int64_t used_ = 0, warm_ = 0, withheld_ = 0;
    std::int64_t wanted_ = 0;  ///< to be withheld
    std::uint64_t uses_ = 0;
    std::map<int, Prefix> prefixes_;
};

}  // namespace faultline::simulator
