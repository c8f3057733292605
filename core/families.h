// Which operator family a span belongs to: what candidates are fitted by and tables are grouped by. Rules as data, by kind and name.
//
// File format (resources/rules/families.rules), one rule a line, the first that matches wins:
//     FAMILY  KIND[,KIND…]|*  REGEXP        # comment
// FAMILY is a word of a-z, 0-9 and _; KIND a word of kind_name(). RE2, unanchored unless the pattern says so.
// A rule set is const after load() and may be shared by threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/capture_reader.h"
#include "core/kind_patterns.h"
#include "core/model.h"
#include "core/result.h"

namespace faultline {

/// Position in FamilyRules::families(); 0 is "other".
enum class FamilyId : std::uint16_t { other = 0 };

class FamilyRules {
public:
    [[nodiscard]] static Result<FamilyRules> load(std::string_view text, std::string_view where);
    [[nodiscard]] static FamilyRules built_in();  ///< resources/rules/families.rules, compiled in

    /// What the first matching rule says. One pass over the name: callers classify each (kind, NameId) once and keep the answer.
    [[nodiscard]] FamilyId classify(SpanKind kind, std::string_view name) const;
    [[nodiscard]] const std::vector<std::string>& families() const noexcept { return families_; }
    [[nodiscard]] std::string_view name(FamilyId id) const noexcept;

private:
    FamilyRules() : families_{"other"} {}
    std::vector<std::string> families_;
    KindPatterns patterns_;
};

/// The families of the names of one capture, each asked once. One thread; the reader must outlive it.
class NameFamilies {
public:
    explicit NameFamilies(const CaptureReader& capture) : capture_(capture), rules_(FamilyRules::built_in()) {}

    [[nodiscard]] FamilyId id(SpanKind kind, NameId name);
    /// The text lives as long as this object.
    [[nodiscard]] std::string_view family(SpanKind kind, NameId name) { return rules_.name(id(kind, name)); }
    [[nodiscard]] const FamilyRules& rules() const noexcept { return rules_; }

private:
    const CaptureReader& capture_;
    FamilyRules rules_;
    std::unordered_map<std::uint64_t, FamilyId> known_;
};

}  // namespace faultline
