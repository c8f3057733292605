// Which log lines belong to a step: those that name one of its requests, and those that fall into its interval (TELLER §3.3, the union).
//
// A line's stamp means an instant of [time, time + resolution), its source's clock is off by at most its uncertainty, and engines write a
// line a little after the fact: the tolerance around the step is the sum. A distance is counted from that instant, so it holds the
// resolution already. Values in, values out; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/log_line.h"
#include "core/model.h"
#include "core/request.h"

namespace faultline {

struct AlignmentOptions {
    TimeNs lag_ns = 5'000'000;  ///< how long after the fact a line may be written
    /// Uncertainty of the clock of each source against the capture's.
    std::unordered_map<std::uint32_t, TimeNs> uncertainty_ns;
};

[[nodiscard]] AlignmentOptions alignment_options(std::span<const Source> sources);

/// Which requests each line names, as positions in `requests`.
[[nodiscard]] std::vector<std::vector<std::size_t>> requests_of_lines(std::span<const LogLine> lines,
                                                                      std::span<const RequestMention> mentions,
                                                                      std::span<const Request> requests);

/// A line of a step, and how it came there.
struct AlignedLine {
    std::size_t line = 0;  ///< position in the lines
    AlignMethod method = AlignMethod::none;
    TimeNs distance_ns = 0;
};

/// What is stored with each line: the nearest step, by request before by time.
struct LogAlignment {
    std::int64_t log = 0;
    std::string request;  ///< Request::name of the first request it names
    std::optional<StepId> step;
    AlignMethod method = AlignMethod::none;
    std::optional<TimeNs> distance_ns;
};

/// One answer for each line, in order. `line_requests` are the requests that each line names, as positions in `requests`.
[[nodiscard]] std::vector<LogAlignment> align_logs(std::span<const LogLine> lines,
                                                   const std::vector<std::vector<std::size_t>>& line_requests, std::span<const Step> steps,
                                                   std::span<const Request> requests, const AlignmentOptions& options);

/// The lines of one step, in the order of `lines`: those that name one of its requests, whenever they were written, by request and with
/// their distance (0 for a line without a time); those that fall into its interval, by time. With `request`, lines that name other requests
/// and not this one are left out.
[[nodiscard]] std::vector<AlignedLine> lines_of_step(std::span<const LogLine> lines,
                                                     const std::vector<std::vector<std::size_t>>& line_requests, const Step& step,
                                                     std::span<const Request> requests, const AlignmentOptions& options,
                                                     std::optional<std::size_t> request = {});

/// The lines of one request: those that name it, and those that fall into one of its steps and name no other. Distances as above, to the
/// nearest of its steps (0 where it has none).
[[nodiscard]] std::vector<AlignedLine> lines_of_request(std::span<const LogLine> lines,
                                                        const std::vector<std::vector<std::size_t>>& line_requests,
                                                        std::span<const Step> steps, std::span<const Request> requests, std::size_t request,
                                                        const AlignmentOptions& options);

}  // namespace faultline
