// Which spans are STEP, FRONTEND, BACKEND or COMM (TELLER §3.3): rules as data, by kind and name.
//
// File format (resources/rules/layers.rules), one rule a line, the first that matches wins:
//     CLASS  KIND[,KIND…]|*  REGEXP        # comment
// CLASS is STEP, FRONTEND, BACKEND, COMM, HOST or KERNEL; KIND a word of kind_name(). RE2, unanchored unless the pattern says so.
// A rule set is const after load() and may be shared by threads.
#pragma once

#include <string_view>

#include "core/kind_patterns.h"
#include "core/model.h"
#include "core/result.h"

namespace faultline {

/// `none` is what no rule names. `host` API calls and `kernel` rows follow from their kind.
enum class LayerClass : std::uint8_t { none = 0, step = 1, frontend = 2, backend = 3, comm = 4, host = 5, kernel = 6 };
[[nodiscard]] std::string_view layer_class_name(LayerClass c) noexcept;  ///< as in the `layer` field of CONTRACT.md; "" for none

class LayerRules {
public:
    [[nodiscard]] static Result<LayerRules> load(std::string_view text, std::string_view where);
    [[nodiscard]] static LayerRules built_in();  ///< resources/rules/layers.rules, compiled in

    /// What the first matching rule says, else `host` for calls and `kernel` for device work. One pass over the name: callers classify each
    /// (kind, NameId) once and keep the answer.
    [[nodiscard]] LayerClass classify(SpanKind kind, std::string_view name) const;

private:
    LayerRules() = default;
    KindPatterns patterns_;
};

}  // namespace faultline
