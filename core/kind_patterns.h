// Rules by kind and name, the first that matches wins: what layers.rules and families.rules have in common.
//
// One rule a line: WORD KIND[,KIND…]|* REGEXP. RE2, unanchored unless the pattern says so; invalid UTF-8 in a name matches no pattern that
// needs it. A set is const after compile() and may be shared by threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/model.h"
#include "core/result.h"
#include "core/rule_file.h"

namespace faultline {

class KindPatterns {
public:
    KindPatterns();
    KindPatterns(KindPatterns&&) noexcept;
    KindPatterns& operator=(KindPatterns&&) noexcept;
    ~KindPatterns();

    /// Takes the kinds and the pattern of a line; `label` is what first_match() gives for it.
    [[nodiscard]] Result<void> add(const RuleLine& line, std::string_view where, std::uint32_t label);
    void compile();
    /// The label of the first rule that matches. One pass over the name, however many rules there are.
    [[nodiscard]] std::optional<std::uint32_t> first_match(SpanKind kind, std::string_view name) const;

private:
    struct Rule;
    struct KindSet;
    std::vector<Rule> rules_;
    std::vector<KindSet> by_kind_;
};

}  // namespace faultline
