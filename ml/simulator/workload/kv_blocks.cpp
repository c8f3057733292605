#include "ml/simulator/workload/kv_blocks.h"

#include <algorithm>
#include <cassert>

namespace faultline::simulator {

int KvBlocks::cached_tokens(int prefix) const {
    const auto found = prefixes_.find(prefix);
    return found == prefixes_.end() ? 0 : static_cast<int>(found->second.blocks * block_size_);
}

std::int64_t KvBlocks::missing(const Held& held, std::int64_t tokens) const {
    return std::max<std::int64_t>(0, needed(tokens) - held.shared - held.own);
}

void KvBlocks::refer(Prefix& prefix, std::int64_t blocks) {
    prefix.last_use = ++uses_;
    const auto at = static_cast<std::size_t>(blocks);
    if (prefix.referring.size() <= at) prefix.referring.resize(at + 1);
    ++prefix.referring[at];
    const std::int64_t more = std::max<std::int64_t>(0, blocks - prefix.used);
    prefix.used += more;
    used_ += more;
    warm_ -= more;
}

void KvBlocks::leave(Prefix& prefix, std::int64_t blocks) {
    prefix.last_use = ++uses_;
    --prefix.referring[static_cast<std::size_t>(blocks)];
    while (prefix.used > 0 && prefix.referring[static_cast<std::size_t>(prefix.used)] == 0) {
        --prefix.used;
        --used_;
        ++warm_;
    }
}

void KvBlocks::share(Held& held, int prefix, std::int64_t tokens) {
    assert(held.own == 0 && held.shared == 0 && tokens <= cached_tokens(prefix));
    const std::int64_t blocks = tokens / block_size_;
    if (blocks == 0) return;
    held.prefix = prefix;
    held.shared = blocks;
    refer(prefixes_[prefix], blocks);
}

void KvBlocks::publish(Held& held, int prefix, std::int64_t tokens) {
    const std::int64_t blocks = std::min(tokens / block_size_, held.shared + held.own);
    if (blocks <= held.shared) return;
    Prefix& p = prefixes_[prefix];
    // Its own blocks become the prefix's; where two computed the same at the same time, they are kept once.
    const std::int64_t given = blocks - held.shared, grown = std::max<std::int64_t>(0, blocks - p.blocks);
    held.own -= given;
    used_ -= given;
    p.blocks += grown;
    warm_ += grown;
    refer(p, blocks);
    if (held.shared > 0) leave(p, held.shared);
    held.prefix = prefix;
    held.shared = blocks;
    settle();
}

/// Gives up warm blocks.
void KvBlocks::evict(std::int64_t blocks) {
    while (blocks > 0 && warm_ > 0) {
        auto oldest = prefixes_.end();
        for (auto p = prefixes_.begin(); p != prefixes_.end(); ++p) {
            const bool warm = p->second.blocks > p->second.used;
            if (warm && (oldest == prefixes_.end() || p->second.last_use < oldest->second.last_use)) oldest = p;
        }
        assert(oldest != prefixes_.end());
        const std::int64_t gone = std::min(blocks, oldest->second.blocks - oldest->second.used);
        oldest->second.blocks -= gone;
        warm_ -= gone;
        blocks -= gone;
        if (oldest->second.blocks == 0) prefixes_.erase(oldest);
    }
}

void KvBlocks::settle() {
    withheld_ = std::min(wanted_, total_ - used_);
    evict(used_ + warm_ + withheld_ - total_);
}

void KvBlocks::withhold(std::int64_t blocks) {
    wanted_ = std::max<std::int64_t>(0, blocks);
    settle();
}

bool KvBlocks::hold(Held& held, std::int64_t tokens) {
    const std::int64_t more = missing(held, tokens);
    if (more > available()) return false;
    evict(more - (available() - warm_));
    held.own += more;
    used_ += more;
    return true;
}

void KvBlocks::release(Held& held) {
    used_ -= held.own;
    if (held.shared > 0) leave(prefixes_[held.prefix], held.shared);
    held = {};
    settle();
}

}  // namespace faultline::simulator
