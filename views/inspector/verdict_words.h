// The words of a diagnosis for a person: fault types, how sure, kinds of evidence.
#pragma once

#include <QString>

#include "core/diagnosis.h"

namespace faultline {

[[nodiscard]] QString fault_type_text(FaultType type);
/// "0.71 · likely"
[[nodiscard]] QString confidence_text(double confidence);
[[nodiscard]] QString evidence_kind_text(EvidenceKind kind);

}  // namespace faultline
