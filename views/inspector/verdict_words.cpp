#include "views/inspector/verdict_words.h"

#include <QCoreApplication>
#include <QLocale>

namespace faultline {

namespace {
QString tr(const char* text) { return QCoreApplication::translate("Verdict", text); }
}  // namespace

QString fault_type_text(FaultType type) {
    switch (type) {
        case FaultType::normal: return tr("Normal");
        case FaultType::memory_resource: return tr("Memory or resource");
        case FaultType::cuda_kernel: return tr("Kernel on the device");
        case FaultType::runtime_driver: return tr("Runtime or driver");
        case FaultType::communication_network: return tr("Communication or network");
        case FaultType::scheduling_software: return tr("Scheduling or software on the host");
    }
    return tr("Normal");
}

QString confidence_text(double confidence) {
    const QString word = confidence < 0.4   ? tr("unsure")
                         : confidence < 0.6 ? tr("possible")
                         : confidence < 0.8 ? tr("likely")
                                            : tr("very likely");
    return QLocale().toString(confidence, 'f', 2) + QStringLiteral(" · ") + word;
}

QString evidence_kind_text(EvidenceKind kind) {
    switch (kind) {
        case EvidenceKind::span: return tr("span");
        case EvidenceKind::log: return tr("log line");
        case EvidenceKind::stack: return tr("stack sample");
        case EvidenceKind::bubble: return tr("bubble");
        case EvidenceKind::roofline: return tr("roofline");
        case EvidenceKind::difference: return tr("difference");
        case EvidenceKind::counter: return tr("counter");
    }
    return {};
}

}  // namespace faultline
