// A planted service (planted_service.h) on its whole way: traces and log written, imported and analysed.
#pragma once

#include <QTemporaryDir>
#include <memory>
#include <string>
#include <vector>

#include "core/capture_reader.h"
#include "core/step_verdict.h"
#include "tests/support/planted_service.h"

namespace faultline::test {

struct AnalysedService {
    QTemporaryDir folder;
    PlantedService service;
    std::unique_ptr<CaptureReader> reader;  ///< null where something failed: see `error`
    std::vector<Step> steps;                ///< by start, as planned
    CaptureAnalysis analysis;
    std::string error;

    /// What is said about the step that was planned at this position; null where there is none.
    [[nodiscard]] const StepVerdict* verdict(int position) const;
    /// Positions of all steps that are out of line.
    [[nodiscard]] std::vector<int> outliers() const;
};

[[nodiscard]] std::unique_ptr<AnalysedService> analyse_service(const ServiceOptions& options, bool with_log = true);

}  // namespace faultline::test
