#include "views/roofline/roofline_series.h"

#include <QCoreApplication>
#include <QLocale>
#include <algorithm>
#include <cmath>
#include <tuple>

#include "views/format.h"
#include "views/palette.h"
#include "views/steps/step_table_model.h"

namespace faultline {

namespace {
QString tr(const char* text) { return QCoreApplication::translate("Roofline", text); }
}  // namespace

double RooflineSeries::expected(double x) const noexcept { return line ? line->intercept_ns + line->slope_ns * (by_order ? 0 : x) : 0; }

std::vector<RooflineKey> roofline_keys(const LoadedCapture& capture) {
    std::vector<RooflineKey> keys;
    for (const Step& step : capture.steps) {
        if (step.kind == StepKind::stall) continue;
        const RooflineKey key{step.instance, step.phase};
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
    return keys;
}

RooflineSeries roofline_series(const LoadedCapture& capture, const RooflineKey& key) {
    RooflineSeries series;
    series.key = key;
    const auto mine = [&key](const Step& step) {
        return step.kind == StepKind::step && step.phase == key.phase && step.instance == key.instance;
    };
    series.by_order = std::none_of(capture.steps.begin(), capture.steps.end(), [&](const Step& s) { return mine(s) && s.tokens; });
    double number = 0;
    for (std::size_t i = 0; i < capture.steps.size(); ++i) {
        const Step& step = capture.steps[i];
        if (!mine(step)) continue;
        number += 1;
        if (!series.by_order && !step.tokens) continue;
        RooflinePoint point{i, series.by_order ? number : static_cast<double>(*step.tokens), step.end - step.start, false, false};
        if (i < capture.verdicts.size()) {
            point.outlier = capture.verdicts[i].outlier;
            point.slow = (capture.verdicts[i].reasons & reason_slow) != 0;
            point.duration = capture.verdicts[i].own_ns.value_or(point.duration);  // what the line was fitted on
        }
        series.points.push_back(point);
    }
    std::stable_sort(series.points.begin(), series.points.end(), [](const RooflinePoint& a, const RooflinePoint& b) {
        return std::tuple(a.x, a.duration) < std::tuple(b.x, b.duration);
    });
    const auto line = std::find_if(capture.rooflines.begin(), capture.rooflines.end(),
                                   [&](const RooflineLine& l) { return l.instance == key.instance && l.phase == key.phase; });
    if (line != capture.rooflines.end()) series.line = *line;
    return series;
}

QString rule_text(const RooflineSeries& series) {
    if (!series.line)
        return tr("Too few steps of this kind to say how long one should last: %1.")
            .arg(count_text(static_cast<std::int64_t>(series.points.size())));
    const RooflineLine& line = *series.line;
    const QString steps = count_text(line.steps);
    if (line.rule == "median")
        return (series.by_order ? tr("Median of %1 steps: %2. They do not say their tokens, so there is no line over them.")
                                : tr("Median of %1 steps: %2. There are too few, or too many of one size, for a fitted line."))
            .arg(steps, duration_text(static_cast<TimeNs>(std::llround(line.intercept_ns))));
    const QString rule = line.rule == "p99-ransac" ? tr("P99 by RANSAC") : QString::fromStdString(line.rule);
    return tr("%1 over %2 steps, %3 token counts, R² %4: %5 + %6 a token")
        .arg(rule, steps, count_text(line.buckets), QLocale().toString(line.r2, 'f', 2),
             duration_text(static_cast<TimeNs>(std::llround(line.intercept_ns))),
             duration_text(static_cast<TimeNs>(std::llround(line.slope_ns))));
}

QString point_text(const LoadedCapture& capture, const RooflineSeries& series, const RooflinePoint& point) {
    const Step& step = capture.steps[point.step];
    QStringList parts{tr("step %1").arg(index_of(step.id))};
    if (step.tokens) parts += *step.tokens == 1 ? tr("1 token") : tr("%1 tokens").arg(count_text(*step.tokens));
    parts += duration_text(point.duration);
    if (series.line) parts += tr("expected %1").arg(duration_text(static_cast<TimeNs>(std::llround(series.expected(point.x)))));
    if (point.step < capture.verdicts.size()) {
        const StepVerdict& verdict = capture.verdicts[point.step];
        if (verdict.ratio) parts += ratio_text(verdict.ratio);
        if (verdict.outlier) parts += tr("outlier: %1").arg(reasons_text(verdict.reasons));
    }
    return parts.join(QStringLiteral(" · "));
}

}  // namespace faultline
