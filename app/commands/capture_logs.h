// The log lines of a capture with what aligns them to steps and requests: what `logs` and `chain` share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/command.h"
#include "core/log_alignment.h"

namespace faultline {

struct CaptureLogs {
    std::vector<LogLine> lines;
    std::vector<Request> requests;
    std::vector<RequestMention> mentions;
    std::vector<Step> steps;  ///< then the stalls
    std::vector<std::vector<std::size_t>> line_requests;
    AlignmentOptions alignment;
};
[[nodiscard]] Result<CaptureLogs> read_capture_logs(const CaptureReader& capture);

/// A line as it belongs to what was asked for.
struct ShownLine {
    const LogLine* line = nullptr;
    std::optional<StepId> step;
    AlignMethod method = AlignMethod::none;
    std::optional<TimeNs> distance_ns;
};
/// By time; a line without one stands where it was written, behind the one before it.
[[nodiscard]] std::vector<ShownLine> all_lines(const CaptureLogs& logs);
[[nodiscard]] std::vector<ShownLine> lines_of(const CaptureLogs& logs, const Step& step, std::optional<std::size_t> request);
[[nodiscard]] std::vector<ShownLine> lines_of(const CaptureLogs& logs, std::size_t request);

/// The step or stall with this id; an error where there is none.
[[nodiscard]] Result<const Step*> step_by_id(const CaptureLogs& logs, std::int64_t id);
/// The request that `--request` means; none where the option was not given.
[[nodiscard]] Result<std::optional<std::size_t>> asked_request(const CaptureLogs& logs, const std::optional<std::string>& id);

/// As CONTRACT.md describes `logs`.
[[nodiscard]] nlohmann::ordered_json json_of(const std::vector<ShownLine>& lines);
/// A table for a person; `indent` blanks before each line. Messages are cut to what fits a line, unless all of them is wanted.
enum class MessageText { cut, whole };
[[nodiscard]] std::string table_of(const std::vector<ShownLine>& lines, MessageText text, std::size_t indent = 0);

}  // namespace faultline
