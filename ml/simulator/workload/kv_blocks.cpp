#include "ml/simulator/workload/kv_blocks.h"

#include <algorithm>

namespace faultline::simulator {

int KvBlocks::warm_tokens(int prefix) const {
    const auto found = prefixes_.find(prefix);
    return found == prefixes_.end() ? 0 : static_cast<int>(found->second.blocks * block_size_);
}

void KvBlocks::share(Held& held, int prefix) {
    const auto found = prefixes_.find(prefix);
    if (found == prefixes_.end()) return;
    Prefix& p = found->second;
    if (p.users++ == 0) {
        warm_ -= p.blocks;
        used_ += p.blocks;
    }
    p.last_use = ++uses_;
    held.prefix = prefix;
    held.shared = p.blocks;
}

void KvBlocks::make_room(std::int64_t blocks) {
    while (used_ + warm_ + blocks > total_ && warm_ > 0) {
        auto oldest = prefixes_.end();
        for (auto p = prefixes_.begin(); p != prefixes_.end(); ++p) {
            if (p->second.users == 0 && (oldest == prefixes_.end() || p->second.last_use < oldest->second.last_use)) oldest = p;
        }
        if (oldest == prefixes_.end()) return;
        warm_ -= oldest->second.blocks;
        prefixes_.erase(oldest);
    }
}

bool KvBlocks::hold(Held& held, std::int64_t tokens, std::int64_t withheld) {
    const std::int64_t more = std::max<std::int64_t>(0, needed(tokens) - held.shared - held.own);
    if (more == 0) return true;
    if (used_ + more > total_ - withheld) return false;
    make_room(more);
    held.own += more;
    used_ += more;
    return true;
}

void KvBlocks::release(Held& held, int prefix, int prefix_tokens) {
    used_ -= held.own;
    if (held.prefix >= 0) {
        Prefix& p = prefixes_[held.prefix];
        if (--p.users == 0) {
            used_ -= p.blocks;
            warm_ += p.blocks;
        }
    } else if (prefix >= 0 && !prefixes_.contains(prefix)) {
        const std::int64_t blocks = std::min<std::int64_t>(prefix_tokens / block_size_, held.own);
        if (blocks > 0 && used_ + warm_ + blocks <= total_) {
            prefixes_[prefix] = {blocks, 0, ++uses_};
            warm_ += blocks;
        }
    }
    held = {};
}

}  // namespace faultline::simulator
