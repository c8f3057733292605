// The centre of the window: overview strip, ruler with steps, and the rows, on one time axis.
#pragma once

#include <QWidget>

namespace faultline {

class Overview;
class Ruler;
class Session;
class TimelineWidget;

class TimelinePanel : public QWidget {
    Q_OBJECT
public:
    /// `session` outlives the panel.
    explicit TimelinePanel(Session& session, QWidget* parent = nullptr);
    [[nodiscard]] TimelineWidget& timeline() noexcept { return *timeline_; }
    [[nodiscard]] Overview& overview() noexcept { return *overview_; }
    [[nodiscard]] Ruler& ruler() noexcept { return *ruler_; }

protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void align();

    Overview* overview_;
    Ruler* ruler_;
    TimelineWidget* timeline_;
};

}  // namespace faultline
