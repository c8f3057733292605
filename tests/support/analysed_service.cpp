#include "tests/support/analysed_service.h"

#include <algorithm>

#include "importers/import_capture.h"

namespace faultline::test {

const StepVerdict* AnalysedService::verdict(int position) const {
    if (position < 0 || static_cast<std::size_t>(position) >= steps.size()) return nullptr;
    for (const StepVerdict& v : analysis.verdicts)
        if (v.step == steps[static_cast<std::size_t>(position)].id) return &v;
    return nullptr;
}

std::vector<int> AnalysedService::outliers() const {
    std::vector<int> positions;
    for (int i = 0; i < static_cast<int>(steps.size()); ++i)
        if (const StepVerdict* v = verdict(i); v && v->outlier) positions.push_back(i);
    return positions;
}

std::unique_ptr<AnalysedService> analyse_service(const ServiceOptions& options, bool with_log) {
    auto analysed = std::make_unique<AnalysedService>();
    analysed->service = make_service(options);
    if (!write_service(analysed->service, analysed->folder.path().toStdString())) {
        analysed->error = "the traces could not be written";
        return analysed;
    }
    const StepGrammar grammar = StepGrammar::built_in();
    const LayerRules layers = LayerRules::built_in();
    const RequestRules requests = RequestRules::built_in();
    ImportRequest request;
    request.inputs = analysed->service.trace_paths;
    if (with_log) request.logs = {analysed->service.log_path};
    request.time_zone = "UTC";
    request.capture = analysed->folder.filePath(QStringLiteral("service.faultline")).toStdString();
    const Result<ImportSummary> imported = import_capture(request, {grammar, layers, requests}, {});
    if (!imported) {
        analysed->error = imported.error().sentence;
        return analysed;
    }
    Result<std::unique_ptr<CaptureReader>> reader = CaptureReader::open(request.capture);
    if (!reader) {
        analysed->error = reader.error().sentence;
        return analysed;
    }
    Result<std::vector<Step>> steps = (*reader)->steps();
    Result<CaptureAnalysis> analysis = (*reader)->analysis();
    if (!steps || !analysis) {
        analysed->error = !steps ? steps.error().sentence : analysis.error().sentence;
        return analysed;
    }
    analysed->steps = std::move(*steps);
    std::sort(analysed->steps.begin(), analysed->steps.end(), [](const Step& a, const Step& b) { return a.start < b.start; });
    analysed->analysis = std::move(*analysis);
    analysed->reader = std::move(*reader);
    return analysed;
}

}  // namespace faultline::test
