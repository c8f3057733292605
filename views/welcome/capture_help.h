// "How to capture": for each way the exact lines, each with a button that copies them.
#pragma once

#include <QString>
#include <QWidget>
#include <vector>

namespace faultline {

struct CaptureRecipe {
    QString title;
    QString lines;  ///< to be copied as they stand
    QString note;
};
[[nodiscard]] std::vector<CaptureRecipe> capture_recipes();

class CaptureHelp : public QWidget {
    Q_OBJECT
public:
    explicit CaptureHelp(QWidget* parent = nullptr);
};

}  // namespace faultline
