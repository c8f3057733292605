#include "app/centre_page.h"

#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "views/banner.h"
#include "views/timeline/timeline_panel.h"

namespace faultline {

namespace {
QString key(const LoadedCapture& capture, const QString& code) { return QString::fromStdString(capture.path) + QLatin1Char('\n') + code; }
}  // namespace

CentrePage::CentrePage(Session* session, QWidget* parent)
    : QWidget(parent), session_(session), banners_(new BannerStack(this)), timeline_(new TimelinePanel(*session, this)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(banners_);
    column->addWidget(timeline_, 1);
    setFocusProxy(timeline_);
    connect(session_, &Session::capture_changed, this, &CentrePage::show_remaining);
    connect(banners_, &BannerStack::dismissed, this, [this](const QString& code) {
        if (session_->capture() != nullptr) dismissed_.insert(key(*session_->capture(), code));
    });
}

void CentrePage::show_findings() {
    dismissed_.clear();
    show_remaining();
}

void CentrePage::show_remaining() {
    banners_->clear();
    if (session_->capture() == nullptr) return;
    std::vector<HealthFinding> findings = session_->capture()->health;
    // Among equals a log that lies elsewhere comes first: nothing that is said about lines and steps holds while it does.
    const auto rank = [](const HealthFinding& f) { return std::pair(-static_cast<int>(f.severity), f.code == "logs.no-overlap" ? 0 : 1); };
    std::stable_sort(findings.begin(), findings.end(),
                     [&](const HealthFinding& a, const HealthFinding& b) { return rank(a) < rank(b); });
    for (const HealthFinding& finding : findings) {
        const QString code = QString::fromStdString(finding.code);
        if (!dismissed_.contains(key(*session_->capture(), code)))
            banners_->add(finding.severity, QString::fromStdString(finding.sentence), code);
    }
}

}  // namespace faultline
