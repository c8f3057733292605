#include "app/centre_page.h"

#include <QVBoxLayout>
#include <algorithm>

#include "views/banner.h"
#include "views/timeline/timeline_panel.h"

namespace faultline {

CentrePage::CentrePage(Session* session, QWidget* parent)
    : QWidget(parent), session_(session), banners_(new BannerStack(this)), timeline_(new TimelinePanel(*session, this)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(banners_);
    column->addWidget(timeline_, 1);
    setFocusProxy(timeline_);
    connect(session_, &Session::capture_changed, this, &CentrePage::show_findings);
}

void CentrePage::show_findings() {
    banners_->clear();
    if (session_->capture() == nullptr) return;
    std::vector<HealthFinding> findings = session_->capture()->health;
    std::stable_sort(findings.begin(), findings.end(),
                     [](const HealthFinding& a, const HealthFinding& b) { return a.severity > b.severity; });
    for (const HealthFinding& finding : findings)
        banners_->add(finding.severity, QString::fromStdString(finding.sentence), QString::fromStdString(finding.code));
}

}  // namespace faultline
