// The roofline dock: which instance and phase, the plot, the rule behind the line, and what the pointer or the keyboard is on.
#pragma once

#include <QWidget>
#include <vector>

#include "views/roofline/roofline_series.h"
#include "views/session.h"

class QComboBox;
class QLabel;
class QStackedLayout;

namespace faultline {

class RooflinePlot;

class RooflineView : public QWidget {
    Q_OBJECT
public:
    explicit RooflineView(Session* session, QWidget* parent = nullptr);
    [[nodiscard]] RooflinePlot* plot() const { return plot_; }
    [[nodiscard]] QComboBox* series() const { return series_; }
    [[nodiscard]] QString rule() const;
    [[nodiscard]] QString empty_text() const;  ///< what stands there instead of the plot; empty where the plot is shown
    [[nodiscard]] QSize sizeHint() const override { return {700, 260}; }

private:
    void show_capture();
    void show_selection();
    void show_series(int at);
    void show_point();

    Session* session_;
    QStackedLayout* stack_;
    QLabel* empty_;
    QComboBox* series_;
    QLabel* rule_;
    QLabel* point_;
    RooflinePlot* plot_;
    std::vector<RooflineKey> keys_;
};

}  // namespace faultline
