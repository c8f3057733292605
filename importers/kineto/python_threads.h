// Python threads that share a row: Kineto shows frames of several threads under one tid (0 where it does not know it).
#pragma once

#include "core/source_builder.h"
#include "importers/kineto/trace_rows.h"

namespace faultline::kineto {

/// Moves the frames of every further Python thread of a row to a part of its own (Track::part). A thread is what hangs on one
/// outermost frame by Python parent ids; outermost frames that do not overlap in time share a part.
void split_python_threads(SourceBuilder& source, TraceRows& rows);

}  // namespace faultline::kineto
