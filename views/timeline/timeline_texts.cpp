// What the timeline says in words: of a row and a span for a person who does not see them, of a request to the pointer.
#include "views/format.h"
#include "views/palette.h"
#include "views/timeline/timeline_widget.h"

namespace faultline {

QString TimelineWidget::row_text(const Row& row) const {
    QStringList parts;
    const Row* named = &row;
    for (int i = static_cast<int>(&row - layout_.rows().data()); named->title.isEmpty() && i > 0; --i)
        named = &layout_.rows()[static_cast<std::size_t>(i - 1)];
    parts << named->title;
    if (!row.detail.isEmpty()) parts << row.detail;
    if (row.lane != nullptr) {
        if (row.lane->depth > 0) parts << tr("level %1").arg(row.lane->depth + 1);
        parts << tr("%1 spans").arg(count_text(static_cast<std::int64_t>(row.lane->size())));
    }
    if (row.requests != nullptr)
        parts << (row.requests->bars.size() == 1 ? tr("1 request")
                                                 : tr("%1 requests").arg(count_text(static_cast<std::int64_t>(row.requests->bars.size()))));
    if (row.toggles() && row.folded) parts << tr("folded");
    return parts.join(QStringLiteral(", "));
}

QString TimelineWidget::span_text(SpanPlace span) {
    if (painter_.names() == nullptr) return {};
    const QString name = painter_.names()->full(span.lane->names[span.at]);
    return tr("%1, %2, %3, starts at %4")
        .arg(name.isEmpty() ? tr("(no name)") : name, kind_text(span.lane->kinds[span.at]), duration_text(span.range().duration()),
             time_text(span.range().start));
}

QString TimelineWidget::request_text(std::size_t at) const {
    const Request& request = laid_out_->requests[at];
    QString text = QStringLiteral("<p style='white-space:pre-wrap'><b>%1</b></p>")
                       .arg(tr("Request %1").arg(QString::fromStdString(request.name).toHtmlEscaped()));
    QStringList lines;
    const auto add_time = [&lines](const QString& words, const std::optional<TimeNs>& time) {
        if (time) lines += words.arg(time_text(*time));
    };
    add_time(tr("arrived at %1"), request.arrival);
    add_time(tr("first token at %1"), request.first_token);
    add_time(request.aborted ? tr("given up at %1") : tr("ended at %1"), request.end);
    if (request.ttft_ns) lines += tr("time to first token %1").arg(duration_text(*request.ttft_ns));
    if (request.tpot_ns) lines += tr("time per output token %1").arg(duration_text(*request.tpot_ns));
    if (request.prompt_tokens) lines += tr("%1 prompt tokens").arg(count_text(*request.prompt_tokens));
    if (request.output_tokens) lines += tr("%1 output tokens").arg(count_text(*request.output_tokens));
    lines +=
        request.steps.empty() ? tr("no step names it") : tr("%1 steps").arg(count_text(static_cast<std::int64_t>(request.steps.size())));
    if (!request.timing_rule.empty()) lines += QString::fromStdString(request.timing_rule).toHtmlEscaped();
    return text + lines.join(QStringLiteral("<br>"));
}

}  // namespace faultline
