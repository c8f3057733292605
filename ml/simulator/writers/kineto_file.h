// One trace file of the PyTorch profiler, written from front to back (FORMATS §2).
#pragma once

#include <memory>
#include <string>

#include "ml/simulator/base/event.h"
#include "ml/simulator/base/run_options.h"
#include "ml/simulator/base/topology.h"
#include "ml/simulator/writers/device_ranges.h"
#include "ml/simulator/writers/gpu_facts.h"
#include "ml/simulator/writers/name_facts.h"
#include "ml/simulator/writers/output_file.h"

namespace faultline::simulator {

class KinetoFile {
public:
    static Result<std::unique_ptr<KinetoFile>> open(const std::string& folder, const std::string& name, bool gzip, ProcessIndex process,
                                                    const RunOptions& options, const Topology& topology, KnownNames& names, TimeNs start);
    void event(const Event& event);
    void counter(const CounterEvent& counter);
    [[nodiscard]] Result<void> finish(TimeNs end);

private:
    KinetoFile(std::unique_ptr<OutputFile> file, ProcessIndex process, const Topology& topology, KnownNames& names, TimeNs start);
    void header(const RunOptions& options);
    void row_name(std::int64_t pid, std::int64_t tid, std::string_view what, std::string_view key, std::string_view json);
    void rows();
    void begin(std::string_view category, std::string_view json, std::int64_t pid, std::int64_t tid, TimeNs from, TimeNs until);
    void begin(std::string_view category, const Event& event, std::string_view json, std::int64_t pid, std::int64_t tid);
    void host(const Event& event, const NameFacts& facts);
    void device(const Event& event, const NameFacts& facts);
    void kernel_arguments(const Event& event, const NameFacts& facts);
    void frame_arguments(const Event& event, const NameFacts& facts);
    void device_ranges(bool at_end);
    void flow(bool start, std::int64_t pid, std::int64_t tid, TimeNs ts, std::uint32_t correlation);

    std::unique_ptr<OutputFile> file_;
    const Topology& topology_;
    KnownNames& names_;
    const NodeClock& clock_;
    std::int64_t pid_ = 0;
    ProcessIndex process_{};
    TimeNs base_ = 0;   ///< what times count from: FORMATS §2.2
    TimeNs start_ = 0;  ///< of the capture, by the node's clock
    TimeNs ts_ = 0;     ///< of the event that is written
    GpuFacts gpu_;
    std::uint32_t index_ = 0;
    DeviceRanges device_ranges_;
    NameFacts scratch_;  ///< of a name that is not interned
};

}  // namespace faultline::simulator
