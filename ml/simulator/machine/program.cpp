#include "ml/simulator/machine/op.h"

#include <cassert>
#include <utility>

namespace faultline::simulator {

Op& Program::add(Op op) {
    op.key = next_key_++;
    return ops.emplace_back(op);
}

Op& Program::insert(std::size_t position, Op op) {
    assert(position <= ops.size());
    op.key = next_inserted_key_++;
    return *ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(position), op);
}

}  // namespace faultline::simulator
