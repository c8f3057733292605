#include "core/health.h"

#include <set>
#include <utility>

namespace faultline {

void join_health(std::vector<HealthFinding>& findings, bool any_kernels) {
    std::set<std::pair<std::string, std::string>> said;
    std::erase_if(findings, [&](const HealthFinding& finding) {
        if (any_kernels && finding.code == "kernels.none") return true;
        return !said.emplace(finding.code, finding.sentence).second;
    });
}

}  // namespace faultline
