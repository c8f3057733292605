// Findings of several sources as those of one capture.
#pragma once

#include <vector>

#include "core/model.h"

namespace faultline {

/// What several sources say in the same words is said once; that one source holds no kernels is no finding where another holds them (a trace of
/// a process that only schedules). The order stays.
void join_health(std::vector<HealthFinding>& findings, bool any_kernels);

}  // namespace faultline
