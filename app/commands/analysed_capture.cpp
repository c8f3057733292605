#include "app/commands/analysed_capture.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/derive_capture.h"

namespace faultline {

Result<std::unique_ptr<CaptureReader>> open_capture(const std::string& path) {
    if (auto ok = ensure_analysed(path, {}); !ok) return tl::unexpected<Error>(ok.error());
    return CaptureReader::open(path);
}

Result<AnalysedCapture> open_analysed_capture(const std::string& path) {
    auto reader = open_capture(path);
    if (!reader) return tl::unexpected<Error>(reader.error());
    AnalysedCapture out;
    out.reader = std::move(*reader);
    CaptureAnalysis analysis;
    if (auto ok = take(out.reader->steps(), out.steps); !ok) return tl::unexpected<Error>(ok.error());
    if (auto ok = take(out.reader->analysis(), analysis); !ok) return tl::unexpected<Error>(ok.error());
    if (auto ok = take(out.reader->logs(), out.logs); !ok) return tl::unexpected<Error>(ok.error());
    if (auto ok = take(out.reader->requests(), out.requests); !ok) return tl::unexpected<Error>(ok.error());
    std::move(analysis.stalls.begin(), analysis.stalls.end(), std::back_inserter(out.steps));
    out.verdicts = std::move(analysis.verdicts);
    out.bubbles = std::move(analysis.bubbles);
    out.rooflines = std::move(analysis.rooflines);
    out.parameters = std::move(analysis.parameters);
    return out;
}

std::optional<std::string> log_only_text(const AnalysedCapture& capture) {
    const std::vector<Track>& tracks = capture.reader->tracks();
    const bool traced = std::any_of(tracks.begin(), tracks.end(), [](const Track& t) {
        return t.spans > 0 && (t.kind == TrackKind::host || t.kind == TrackKind::device);
    });
    if (traced || capture.logs.empty()) return std::nullopt;
    return std::string("this capture holds a log and no trace: steps and devices are seen in traces alone; add one with "
                       "faultline import -o CAPTURE --append TRACE\n");
}

}  // namespace faultline
