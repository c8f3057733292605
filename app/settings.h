// What the window remembers between runs, in QSettings: recent files, theme, text size, where docks are.
#pragma once

#include <QByteArray>
#include <QSettings>
#include <QStringList>

#include "core/types.h"
#include "views/palette.h"

namespace faultline {

class Settings {
public:
    static constexpr int kRecent = 12;

    [[nodiscard]] QStringList recent() const;  ///< newest first; those that are gone are left out
    void add_recent(const QString& path);
    void clear_recent();

    [[nodiscard]] Theme theme() const;
    void set_theme(Theme theme);
    /// Points added to the platform's text size, -4…12.
    [[nodiscard]] int text_size_change() const;
    void set_text_size_change(int points);

    [[nodiscard]] QByteArray geometry() const;
    [[nodiscard]] QByteArray layout() const;
    void set_window(const QByteArray& geometry, const QByteArray& layout);
    void forget_window();

    /// The range that was shown when a capture was closed; empty where it is not known.
    [[nodiscard]] TimeRange last_range(const QString& path) const;
    void set_last_range(const QString& path, TimeRange range);

private:
    mutable QSettings store_;
};

}  // namespace faultline
