// A run that was simulated into a folder, and its truth.json.
#pragma once

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>

#include <optional>
#include <string>
#include <vector>

#include "tests/ml/simulated_run.h"

namespace faultline::test {

class SimulatedTruth {
    QTemporaryDir folder_;  // before what is written into it

public:
    SimulatedTruth(const simulator::RunOptions& options, const simulator::FaultChoice& fault) : summary(run(options, fault)) {
        QFile file(folder_.filePath(QStringLiteral("run/truth.json")));
        if (file.open(QIODevice::ReadOnly)) truth = QJsonDocument::fromJson(file.readAll()).object();
    }
    [[nodiscard]] std::string folder() const { return folder_.filePath(QStringLiteral("run")).toStdString(); }
    [[nodiscard]] std::string capture() const { return folder_.filePath(QStringLiteral("run.faultline")).toStdString(); }
    [[nodiscard]] std::vector<QJsonObject> labelled(const char* what) const {
        std::vector<QJsonObject> all;
        for (const QJsonValue value : truth[QLatin1String(what)].toArray()) {
            if (value.toObject()[QLatin1String("label")].toString() != QLatin1String("normal")) all.push_back(value.toObject());
        }
        return all;
    }
    /// All lines of the logs of the run.
    [[nodiscard]] QString logs() const {
        QString text;
        for (const std::string& name : summary->files) {
            if (name.find(".log") == std::string::npos) continue;
            QFile file(folder_.filePath(QStringLiteral("run/")) + QString::fromStdString(name));
            if (file.open(QIODevice::ReadOnly)) text += QString::fromUtf8(file.readAll());
        }
        return text;
    }

public:
    QJsonObject truth;
    Result<simulator::SimulationSummary> summary;

private:
    Result<simulator::SimulationSummary> run(const simulator::RunOptions& options, const simulator::FaultChoice& fault) {
        simulator::SimulationJob job;
        job.options = options;
        job.fault = fault;
        job.folder = folder();
        job.gzip = false;
        return simulator::simulate(job);
    }


};

}  // namespace faultline::test
