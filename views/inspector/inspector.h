// The inspector: what is selected, why its step was slow, and the chain it belongs to.
#pragma once

#include <QTabWidget>

#include "views/session.h"

namespace faultline {

class ChainPage;
class SelectionPage;
class VerdictPage;

class Inspector : public QTabWidget {
    Q_OBJECT
public:
    explicit Inspector(Session* session, QWidget* parent = nullptr);
    [[nodiscard]] SelectionPage* selection_page() const { return selection_; }
    [[nodiscard]] VerdictPage* verdict_page() const { return verdict_; }
    [[nodiscard]] ChainPage* chain_page() const { return chain_; }
    void show_verdict();
    [[nodiscard]] QSize sizeHint() const override { return {430, 500}; }  ///< how wide its dock is at first

private:
    SelectionPage* selection_;
    VerdictPage* verdict_;
    ChainPage* chain_;
};

}  // namespace faultline
