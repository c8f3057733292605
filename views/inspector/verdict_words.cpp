#include "views/inspector/verdict_words.h"

#include <QCoreApplication>
#include <QLocale>
#include <string_view>

#include "core/diagnosis_texts.h"

namespace faultline {

namespace {
QString tr(const char* text) { return QCoreApplication::translate("Verdict", text); }
}  // namespace

QString fault_type_text(FaultType type) {
    if (type == FaultType::normal) return tr("Normal");
    const std::string_view words = fault_words(type);  // the same as in the sentences and on the command line
    QString text = QString::fromUtf8(words.data(), static_cast<qsizetype>(words.size()));
    if (!text.isEmpty()) text[0] = text[0].toUpper();
    return text;
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
