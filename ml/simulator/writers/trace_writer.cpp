#include "ml/simulator/writers/trace_writer.h"

#include "ml/simulator/writers/trace_writers.h"

namespace faultline::simulator {

Result<std::unique_ptr<TraceWriter>> TraceWriter::open(const TraceWriterOptions& writer, const RunOptions& options,
                                                       const Topology& topology, const Names& names) {
    return writer.format == TraceFormat::kineto ? open_kineto(writer, options, topology, names)
                                                : open_nsys(writer, options, topology, names);
}

}  // namespace faultline::simulator
