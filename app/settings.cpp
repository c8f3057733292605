#include "app/settings.h"

#include <QFileInfo>
#include <algorithm>

namespace faultline {

namespace {
const QString kRecentKey = QStringLiteral("recent");
const QString kThemeKey = QStringLiteral("theme");
const QString kTextKey = QStringLiteral("text_size_change");
const QString kGeometryKey = QStringLiteral("window/geometry");
const QString kLayoutKey = QStringLiteral("window/layout");
const QString kRangesKey = QStringLiteral("ranges");
constexpr int kRanges = 30;
}  // namespace

QStringList Settings::recent() const {
    QStringList paths = store_.value(kRecentKey).toStringList();
    paths.removeIf([](const QString& path) { return !QFileInfo::exists(path); });
    return paths;
}

void Settings::add_recent(const QString& path) {
    const QString absolute = QFileInfo(path).absoluteFilePath();
    QStringList paths = store_.value(kRecentKey).toStringList();
    paths.removeAll(absolute);
    paths.prepend(absolute);
    store_.setValue(kRecentKey, QStringList(paths.mid(0, kRecent)));
}

void Settings::clear_recent() { store_.remove(kRecentKey); }

Theme Settings::theme() const {
    const QString word = store_.value(kThemeKey).toString();
    return word == QLatin1String("light") ? Theme::light : word == QLatin1String("dark") ? Theme::dark : Theme::system;
}

void Settings::set_theme(Theme theme) {
    store_.setValue(kThemeKey, theme == Theme::light  ? QStringLiteral("light")
                               : theme == Theme::dark ? QStringLiteral("dark")
                                                      : QStringLiteral("system"));
}

int Settings::text_size_change() const { return std::clamp(store_.value(kTextKey, 0).toInt(), -4, 12); }
void Settings::set_text_size_change(int points) { store_.setValue(kTextKey, std::clamp(points, -4, 12)); }

QByteArray Settings::geometry() const { return store_.value(kGeometryKey).toByteArray(); }
QByteArray Settings::layout() const { return store_.value(kLayoutKey).toByteArray(); }

void Settings::set_window(const QByteArray& geometry, const QByteArray& layout) {
    store_.setValue(kGeometryKey, geometry);
    store_.setValue(kLayoutKey, layout);
}

void Settings::forget_window() {
    store_.remove(kGeometryKey);
    store_.remove(kLayoutKey);
}

TimeRange Settings::last_range(const QString& path) const {
    const QString absolute = QFileInfo(path).absoluteFilePath();
    for (const QVariant& entry : store_.value(kRangesKey).toList()) {
        const QStringList row = entry.toStringList();
        if (row.size() == 3 && row[0] == absolute) return {row[1].toLongLong(), row[2].toLongLong()};
    }
    return {};
}

void Settings::set_last_range(const QString& path, TimeRange range) {
    const QString absolute = QFileInfo(path).absoluteFilePath();
    QVariantList rows = store_.value(kRangesKey).toList();
    rows.removeIf([&absolute](const QVariant& entry) { return entry.toStringList().value(0) == absolute; });
    rows.prepend(QStringList{absolute, QString::number(range.start), QString::number(range.end)});
    store_.setValue(kRangesKey, QVariantList(rows.mid(0, kRanges)));
}

}  // namespace faultline
