// Pictures of the real window, for the README and for machines without a display: a kernel selected, a step
// chosen, the worst step with its evidence and log lines, the roofline, the ledger, dark.
#pragma once

#include <QString>

namespace faultline {

class MainWindow;

/// Opens `file` in the window and writes kernel-selected.png, step-chosen.png, verdict.png, roofline.png, dark.png and import-ledger.png
/// into `folder`. Runs the event loop. Returns the exit status; what went wrong is said on standard error.
int write_screenshots(MainWindow& window, const QString& file, const QString& folder);

}  // namespace faultline
