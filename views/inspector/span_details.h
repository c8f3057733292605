// Everything a capture knows about one span, as labelled texts in groups.
//
// Reads about one chunk of each column that the span has (well under a frame); GUI thread, with the session's reader.
#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "views/session.h"

namespace faultline {

struct Detail {
    QString label;
    QString value;
    std::optional<SpanId> goes_to{};  ///< a span that can be selected from here (launch, parent, forward operator)
    QString whole{};                  ///< what is copied, where `value` is shortened
    [[nodiscard]] const QString& text() const { return whole.isEmpty() ? value : whole; }
};

struct DetailGroup {
    QString title;
    std::vector<Detail> rows;
};

struct SpanDetails {
    QString name;  ///< whole, as the source gave it
    SpanKind kind = SpanKind::other;
    bool collective = false;
    std::vector<DetailGroup> groups;
};

/// Empty where the capture has no such span.
[[nodiscard]] std::optional<SpanDetails> read_span_details(const LoadedCapture& capture, SpanId span);

/// The members of a JSON object as rows, objects inside it flattened to "outer.inner"; what is no object is one row as it stands.
[[nodiscard]] std::vector<Detail> json_rows(const QByteArray& json);

/// Where a track lies, in words: "GPU 0 · stream 7", "thread 1234 (MainThread)".
[[nodiscard]] QString place_text(const CaptureReader& reader, const Track& track);

}  // namespace faultline
