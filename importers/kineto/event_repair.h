// Making the text of one event valid JSON where it is wrong in one of the ways that producers are known for (FORMATS §2.6).
#pragma once

#include <string>
#include <string_view>

#include "importers/kineto/kineto_event.h"

namespace faultline::kineto {

/// Appends the repaired text to `out` and says what was changed. With `loose_quotes` a string ends only at a quote that is
/// followed by `,`, `:`, `}` or `]`; other quotes in it are escaped.
[[nodiscard]] TextRepairs repair_event(std::string_view text, bool loose_quotes, std::string& out);

}  // namespace faultline::kineto
