// The middle of the window with a capture in it: the findings about it over the timeline.
#pragma once

#include <QSet>
#include <QWidget>

#include "views/session.h"

namespace faultline {

class BannerStack;

class CentrePage : public QWidget {
    Q_OBJECT
public:
    explicit CentrePage(Session* session, QWidget* parent = nullptr);
    [[nodiscard]] BannerStack* banners() const { return banners_; }
    [[nodiscard]] QWidget* timeline() const { return timeline_; }
    /// Shows every finding again, those that were dismissed too.
    void show_findings();

private:
    void show_remaining();

    QSet<QString> dismissed_;  ///< "capture\ncode": a finding that was read does not come back with the same capture
    Session* session_;
    BannerStack* banners_;
    QWidget* timeline_;
};

}  // namespace faultline
