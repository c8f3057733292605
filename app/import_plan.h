// What an import would do, before it is started: what each input is, and where the capture goes.
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

namespace faultline {

/// An input as the sniffing found it.
struct PlannedInput {
    QString path;
    QString format;   ///< title of the importer; empty where none knows it
    QString trouble;  ///< why it cannot be imported; empty where it can
    qint64 bytes = 0;
    bool log = false;  ///< a service log: read after the traces
    [[nodiscard]] bool usable() const { return trouble.isEmpty(); }
};

/// Sniffs each input by content; a folder counts as one input, and `logs` are service logs whatever they look like. Reads the first bytes
/// of each: any thread, not the GUI's.
[[nodiscard]] std::vector<PlannedInput> plan_inputs(const QStringList& paths, const QStringList& logs = {});

/// Filters of a file dialog, from what the importers say of themselves: everything that can be read first, then each format.
[[nodiscard]] QString import_filters();
/// The same, with captures.
[[nodiscard]] QString open_filters();
[[nodiscard]] QString log_filters();

struct PlannedTarget {
    QString path;
    bool elsewhere = false;  ///< the folder of the inputs cannot be written, so it goes to the cache folder
};

/// "run.pt.trace.json.gz" becomes "run.faultline" beside it; several inputs take the name of their folder.
[[nodiscard]] PlannedTarget plan_target(const QStringList& inputs);

}  // namespace faultline
