#include "ml/simulator/base/names.h"

namespace faultline::simulator {

Names::Names() { texts_.emplace_back(); }

Name Names::intern(std::string_view text) {
    if (text.empty()) return Name::none;
    if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
    const auto id = static_cast<Name>(texts_.size());
    texts_.emplace_back(text);
    ids_.emplace(texts_.back(), id);
    return id;
}

}  // namespace faultline::simulator
