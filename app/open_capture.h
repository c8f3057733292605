// Loading a capture for the window: everything the views read, in one immutable value, made off the GUI thread.
#pragma once

#include <memory>
#include <string>

#include "core/progress.h"
#include "core/result.h"
#include "views/session.h"

namespace faultline {

/// Opens `path`, loads its rows (steps, verdicts, bubbles, requests, logs, ledger, findings), counts kernels and builds the index. Any
/// thread; stops when asked (code `cancelled`).
[[nodiscard]] Result<std::shared_ptr<const LoadedCapture>> load_capture(const std::string& path, const Progress& progress);

/// True for a capture file, by its name or its first bytes; false for anything to import and for what cannot be read.
[[nodiscard]] bool is_capture_file(const std::string& path);

}  // namespace faultline
