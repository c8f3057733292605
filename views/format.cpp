#include "views/format.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QLocale>
#include <cmath>
#include <cstdlib>

namespace faultline {

namespace {

/// Four figures: 1.904, 19.04, 190.4, 1904.
QString four_figures(double value) {
    const double size = std::abs(value);
    const int decimals = size < 10 ? 3 : size < 100 ? 2 : size < 1000 ? 1 : 0;
    return QLocale().toString(value, 'f', decimals);
}

QString with_unit(const QString& number, const char* unit) { return number + QChar(0x00a0) + QString::fromUtf8(unit); }

}  // namespace

QString duration_text(TimeNs ns) {
    const double size = std::abs(static_cast<double>(ns));
    const auto n = static_cast<double>(ns);
    if (size < 1e3) return with_unit(QLocale().toString(static_cast<qlonglong>(ns)), "ns");
    if (size < 999'950.0) return with_unit(four_figures(n / 1e3), "µs");
    if (size < 999'950'000.0) return with_unit(four_figures(n / 1e6), "ms");
    if (size < 120e9) return with_unit(four_figures(n / 1e9), "s");
    const auto seconds = static_cast<qlonglong>(size / 1e9 + 0.5);
    if (seconds >= 48 * 3'600) {  // nobody counts the minutes of weeks
        const QString days = QCoreApplication::translate("Format", "about %1 days").arg(QLocale().toString((seconds + 43'200) / 86'400));
        return ns < 0 ? QLocale().negativeSign() + days : days;
    }
    if (seconds >= 3'600) {
        const QString hours = with_unit(QLocale().toString(seconds / 3'600), "h") + QChar(0x00a0) +
                              with_unit(QStringLiteral("%1").arg(seconds % 3'600 / 60, 2, 10, QLatin1Char('0')), "min");
        return ns < 0 ? QLocale().negativeSign() + hours : hours;
    }
    const QString text = with_unit(QLocale().toString(seconds / 60), "min") + QChar(0x00a0) +
                         with_unit(QStringLiteral("%1").arg(seconds % 60, 2, 10, QLatin1Char('0')), "s");
    return ns < 0 ? QLocale().negativeSign() + text : text;
}

QString nanoseconds_text(TimeNs ns) { return with_unit(QLocale().toString(static_cast<qlonglong>(ns)), "ns"); }

QString time_text(TimeNs ns) {
    constexpr TimeNs kDays = TimeNs{48} * 3'600 * 1'000'000'000;
    if (ns >= kDays || ns <= -kDays) return duration_text(ns);
    const bool negative = ns < 0;
    const auto size = negative ? ~static_cast<std::uint64_t>(ns) + 1 : static_cast<std::uint64_t>(ns);
    const QString seconds = QLocale().toString(static_cast<qulonglong>(size / 1'000'000'000));
    const QString fraction = QStringLiteral("%1").arg(size % 1'000'000'000, 9, 10, QLatin1Char('0'));
    return (negative ? QLocale().negativeSign() : QString()) + with_unit(seconds + QLocale().decimalPoint() + fraction, "s");
}

QString wall_text(std::int64_t epoch_ns) {
    std::int64_t ms = epoch_ns / 1'000'000;
    std::int64_t rest = epoch_ns % 1'000'000;
    if (rest < 0) {
        rest += 1'000'000;
        --ms;
    }
    const QDateTime local = QDateTime::fromMSecsSinceEpoch(ms);
    const int offset = local.offsetFromUtc() / 60;
    const QString zone = QStringLiteral("UTC%1%2:%3")
                             .arg(offset < 0 ? QLatin1Char('-') : QLatin1Char('+'))
                             .arg(std::abs(offset) / 60, 2, 10, QLatin1Char('0'))
                             .arg(std::abs(offset) % 60, 2, 10, QLatin1Char('0'));
    return local.toString(QStringLiteral("yyyy-MM-dd HH:mm:ss.zzz")) + QStringLiteral("%1 ").arg(rest / 1000, 3, 10, QLatin1Char('0')) +
           zone;
}

QString count_text(std::int64_t n) { return QLocale().toString(static_cast<qlonglong>(n)); }

QString bytes_text(std::int64_t bytes) {
    return QLocale().formattedDataSize(bytes, std::abs(static_cast<double>(bytes)) < 10'240 ? 1 : 2, QLocale::DataSizeIecFormat);
}

QString percent_text(double share) {
    const double percent = share * 100;
    const bool small = percent > 0 && percent < 1;
    return with_unit(QLocale().toString(percent, 'f', small ? 1 : 0), "%");
}

QString optional_text(const std::optional<std::int64_t>& n) { return n ? count_text(*n) : QString(QChar(0x2013)); }

}  // namespace faultline
