// One export of Nsight Systems: what was captured on a node (FORMATS §1). One transaction, ended by finish(); SQLite spills what does not
// fit its page cache, so memory does not grow. Python frames are left out: such exports have none.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/sql.h"
#include "ml/simulator/base/event.h"
#include "ml/simulator/base/run_options.h"
#include "ml/simulator/base/topology.h"
#include "ml/simulator/writers/name_facts.h"

namespace faultline::simulator {

class NsysFile {
public:
    static Result<std::unique_ptr<NsysFile>> open(const std::string& path, bool older, NodeIndex node, const RunOptions& options,
                                                  const Topology& topology, KnownNames& names, TimeNs start);
    /// Whether the event has a row in such an export.
    [[nodiscard]] Result<bool> event(const Event& event);
    [[nodiscard]] Result<bool> counter(const CounterEvent& counter);
    [[nodiscard]] Result<void> finish(TimeNs end);

private:
    enum class Use : std::uint8_t { plain, call, short_name };

    NsysFile(sql::Connection db, bool older, NodeIndex node, const Topology& topology, KnownNames& names, TimeNs start);
    [[nodiscard]] Result<void> prepare();
    [[nodiscard]] Result<void> describe(const RunOptions& options);
    [[nodiscard]] Result<void> describe_processes();
    [[nodiscard]] Result<void> row(std::string_view table, std::initializer_list<std::string> values);
    [[nodiscard]] Result<std::int64_t> string(std::string_view text);
    [[nodiscard]] Result<std::int64_t> string(const Event& event, Use use);
    [[nodiscard]] Result<void> range(const Event& event);
    [[nodiscard]] Result<void> call(const Event& event);
    [[nodiscard]] Result<void> wait(const Event& event, Waits waits);
    [[nodiscard]] Result<void> device(const Event& event);
    [[nodiscard]] std::optional<StreamIndex> stream_of(const Event& call) const;
    [[nodiscard]] std::int64_t global_pid(ProcessIndex process) const;
    [[nodiscard]] std::int64_t global_tid(const Event& event) const;
    [[nodiscard]] TimeNs end_of(const Event& event) const { return clock_.at(event.start + event.duration) - session_; }

    sql::Connection db_;
    sql::Statement strings_, ranges_, calls_, kernels_, copies_, sets_, waits_, metrics_;
    bool older_ = false;
    NodeIndex node_{};
    const Topology& topology_;
    KnownNames& names_;
    const NodeClock& clock_;
    TimeNs session_ = 0;                ///< start of the session by the node's clock
    TimeNs latest_ = 0;                 ///< end of what is whole
    std::vector<std::int64_t> ids_[3];  ///< of interned names, by use; 0: none yet
    std::string domain_;                ///< of registered range names
    std::int64_t last_string_ = 0, range_rows_ = 0;
    std::vector<std::int64_t> open_;  ///< rows of ranges that the end of the capture cut: as many as were open then
    std::map<std::pair<int, std::string>, std::int64_t> metric_ids_;
};

}  // namespace faultline::simulator
