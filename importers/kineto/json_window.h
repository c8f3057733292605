// The bytes of a SourceFile as one window after the other, each beginning with what the one before left over. One thread.
#pragma once

#include <memory>
#include <stop_token>

#include "core/result.h"
#include "importers/kineto/event_cutter.h"
#include "importers/source_file.h"

namespace faultline::kineto {

/// The window may be written to, from one byte before it to SourceFile::kPadding bytes behind it.
class JsonWindow {
public:
    JsonWindow(SourceFile& file, std::stop_token stop) : file_(file), stop_(std::move(stop)) {}

    [[nodiscard]] CutWindow& window() noexcept { return window_; }
    /// Fetches the next block behind what is left of the window, or marks the window as the last.
    [[nodiscard]] Result<void> refill();

private:
    SourceFile& file_;
    std::stop_token stop_;
    CutWindow window_;
    SourceFile::Block current_, spare_;
    std::unique_ptr<char[]> joined_;  ///< where what is left over does not fit before a block
};

}  // namespace faultline::kineto
