#include "importers/kineto/json_window.h"

#include <cstring>
#include <utility>

namespace faultline::kineto {

Result<void> JsonWindow::refill() {
    const Result<bool> got = file_.next(spare_, stop_);
    if (!got) return tl::unexpected<Error>(got.error());
    if (!*got) {
        window_.last = true;
        return {};
    }
    const auto left = static_cast<std::size_t>(window_.end - window_.begin);
    if (left < SourceFile::kHeadroom) {
        char* const begin = spare_.data - left;
        if (left > 0) std::memcpy(begin, window_.begin, left);
        window_.begin = begin;
        window_.end = spare_.data + spare_.size;
        joined_.reset();
    } else {
        auto bigger = std::make_unique_for_overwrite<char[]>(1 + left + spare_.size + SourceFile::kPadding);
        std::memcpy(bigger.get() + 1, window_.begin, left);
        std::memcpy(bigger.get() + 1 + left, spare_.data, spare_.size);
        window_.begin = bigger.get() + 1;
        window_.end = window_.begin + left + spare_.size;
        joined_ = std::move(bigger);
    }
    std::swap(current_, spare_);
    return {};
}

}  // namespace faultline::kineto
