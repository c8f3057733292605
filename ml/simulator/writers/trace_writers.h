// The writers behind TraceWriter::open, and what they share.
#pragma once

#include "ml/simulator/writers/trace_writer.h"

namespace faultline::simulator {

[[nodiscard]] Result<std::unique_ptr<TraceWriter>> open_kineto(const TraceWriterOptions& writer, const RunOptions& options,
                                                               const Topology& topology, const Names& names);
[[nodiscard]] Result<std::unique_ptr<TraceWriter>> open_nsys(const TraceWriterOptions& writer, const RunOptions& options,
                                                             const Topology& topology, const Names& names);

/// Host events without a name are left out (a dialect without a text for them), and so is what began before the capture.
[[nodiscard]] inline bool left_out(const Event& event, TimeNs start) {
    const bool host = event.kind == EventKind::range || event.kind == EventKind::op || event.kind == EventKind::python;
    return event.start < start || (host && event.name == Name::none && event.text.empty());
}

}  // namespace faultline::simulator
