// Marking communication: host ranges and operators, device kernels, and what the host said about their size (ENGINES §4.4).
#pragma once

#include "core/layer_rules.h"
#include "core/source_builder.h"

namespace faultline {

/// Sets flag_collective on spans of class COMM, and copies group size, bytes and sequence from the enclosing host record (such as
/// record_param_comms) to the device span it launched where that has none. Tracks are sorted, nested and bound.
void mark_collectives(SourceBuilder& source, const LayerRules& layers);

}  // namespace faultline
