// The formats that can be imported, and which of them an input is. Immutable; any thread.
#pragma once

#include <span>
#include <string_view>

#include "core/result.h"
#include "importers/importer.h"

namespace faultline {

/// Every importer, in the order in which a tie is decided.
[[nodiscard]] std::span<const Importer* const> importers() noexcept;

/// The importer of --log.
[[nodiscard]] const Importer& service_log_importer() noexcept;

/// The importer that is surest of the input. `head` are its first bytes, inflated; `path` is what it is called in a sentence. Where no
/// importer knows it, the error says what it is and what to do with it.
[[nodiscard]] Result<const Importer*> choose_importer(std::string_view head, std::string_view name, std::string_view path);

}  // namespace faultline
