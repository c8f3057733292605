// Texts that are compiled in: the schema, the views and the rule files.
#pragma once

#include <string_view>

namespace faultline::embedded {

extern const std::string_view kSchemaSql;
extern const std::string_view kViewsSql;
extern const std::string_view kStepRules;
extern const std::string_view kLayerRules;
extern const std::string_view kRequestRules;
extern const std::string_view kFamilyRules;

}  // namespace faultline::embedded
