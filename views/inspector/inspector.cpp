#include "views/inspector/inspector.h"

#include <QTabBar>

#include "views/inspector/chain_page.h"
#include "views/inspector/selection_page.h"
#include "views/inspector/verdict_page.h"

namespace faultline {

Inspector::Inspector(Session* session, QWidget* parent)
    : QTabWidget(parent),
      selection_(new SelectionPage(session, this)),
      verdict_(new VerdictPage(session, this)),
      chain_(new ChainPage(session, this)) {
    setDocumentMode(true);
    tabBar()->setDrawBase(false);
    addTab(selection_, tr("Selection"));
    addTab(verdict_, tr("Verdict"));
    addTab(chain_, tr("Chain"));
}

void Inspector::show_verdict() {
    setCurrentWidget(verdict_);
    verdict_->diagnose();
}

}  // namespace faultline
