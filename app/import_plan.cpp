#include "app/import_plan.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QStandardPaths>

#include "importers/registry.h"
#include "importers/source_file.h"
#include "views/banner.h"

namespace faultline {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("ImportPlan", text); }

QString from_utf8(std::string_view s) { return QString::fromUtf8(s.data(), static_cast<qsizetype>(s.size())); }

PlannedInput plan_input(const QString& path, bool as_log) {
    PlannedInput input{path, {}, {}, 0, as_log};
    const QFileInfo file(path);
    if (!file.exists()) {
        input.trouble = tr("there is no such file.");
        return input;
    }
    if (file.isDir()) {
        input.format = tr("folder: every trace in it");
        return input;
    }
    input.bytes = file.size();
    const std::string encoded = QFile::encodeName(path).toStdString();
    auto opened = SourceFile::open(encoded);
    if (!opened) {
        input.trouble = error_text(opened.error());
        return input;
    }
    const auto head = (*opened)->head();
    if (!head) {
        input.trouble = error_text(head.error());
        return input;
    }
    const auto importer = as_log ? Result<const Importer*>(&service_log_importer()) : choose_importer(*head, (*opened)->name(), encoded);
    if (importer) input.log = *importer == &service_log_importer();
    if (importer)
        input.format = from_utf8((*importer)->info().title) + ((*opened)->gzip() ? tr(", gzip") : QString());
    else
        input.trouble = error_text(importer.error());
    return input;
}

/// The patterns of all importers and `more`, each once.
QString all_patterns(QStringList more) {
    for (const Importer* importer : importers()) more += from_utf8(importer->info().suffixes).split(QLatin1Char(' '), Qt::SkipEmptyParts);
    more.removeDuplicates();
    return (more.contains(QStringLiteral("*.faultline")) ? tr("Captures, traces and logs (%1)") : tr("Traces and logs (%1)"))
        .arg(more.join(QLatin1Char(' ')));
}

/// The name without the suffixes that traces have: "run.pt.trace.json.gz" gives "run".
QString stem(QString name) {
    static const QStringList kSuffixes{QStringLiteral(".gz"), QStringLiteral(".json"), QStringLiteral(".trace"), QStringLiteral(".pt")};
    for (bool cut = true; cut;) {
        cut = false;
        for (const QString& suffix : kSuffixes) {
            if (name.size() > suffix.size() && name.endsWith(suffix, Qt::CaseInsensitive)) {
                name.chop(suffix.size());
                cut = true;
            }
        }
    }
    return name;
}

}  // namespace

std::vector<PlannedInput> plan_inputs(const QStringList& paths, const QStringList& logs) {
    std::vector<PlannedInput> plan;
    for (const QString& path : paths) plan.push_back(plan_input(path, logs.contains(path)));
    return plan;
}

QString import_filters() {
    QStringList each{all_patterns({})};
    for (const Importer* importer : importers())
        each += QStringLiteral("%1 (%2)").arg(from_utf8(importer->info().title).remove(QLatin1Char('(')).remove(QLatin1Char(')')),
                                              from_utf8(importer->info().suffixes));
    each += tr("All files (*)");
    return each.join(QStringLiteral(";;"));
}

QString open_filters() {
    QStringList each = import_filters().split(QStringLiteral(";;"));
    each[0] = all_patterns({QStringLiteral("*.faultline")});
    each.insert(1, tr("Faultline captures (*.faultline)"));
    return each.join(QStringLiteral(";;"));
}

QString log_filters() {
    return tr("Service logs (%1)").arg(from_utf8(service_log_importer().info().suffixes)) + QStringLiteral(";;") + tr("All files (*)");
}

PlannedTarget plan_target(const QStringList& inputs) {
    if (inputs.isEmpty()) return {};
    const QFileInfo first(inputs.front());
    const QString name =
        (inputs.size() > 1 && !first.isDir() ? first.absoluteDir().dirName() : stem(first.fileName())) + QStringLiteral(".faultline");
    const QString folder = first.absolutePath();
    if (QFileInfo(folder).isWritable()) return {folder + QLatin1Char('/') + name, false};
    const QString cache = QStandardPaths::writableLocation(QStandardPaths::CacheLocation) + QStringLiteral("/captures");
    return {cache + QLatin1Char('/') + name, true};
}

}  // namespace faultline
