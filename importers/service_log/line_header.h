// The header of one line of a service log: who wrote it when and how badly (FORMATS §7.1, ENGINES §5). Wrappers are off already.
//
// A level comes from the header alone: the text of a message may hold prompts, and prompts may say "ERROR".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "importers/service_log/stamp.h"

namespace faultline::service_log {

enum class Shape : std::uint8_t {
    none,       ///< no header: a continuation, or what a third party printed
    vllm,       ///< "INFO 07-30 17:42:47 [core.py:58] ", with or without the first bracket; long messages repeat it on each line
    bracket,    ///< "[2026-08-23 09:05:37 TP0 EP0] ", with or without date
    plain,      ///< "2026-08-23 09:05:37,123 - INFO - file.py:12 - " and its relatives
    rust,       ///< "2025-09-17 08:22:52  INFO sglang_router_rs::server: "; its times are UTC
    glog,       ///< "E0820 11:47:24.069865 12345 file.cc:607] ", "[E820 … file.cc:607] ", "[E file.cc:563] "
    nccl,       ///< "host:pid:tid [dev] NCCL INFO "
    level,      ///< "INFO:     " and "ERROR:logger:", without time
    kernel,     ///< "[93297.027938] ", "[Sun Feb 23 16:24:18 2025] ", "NVRM: Xid"
    component,  ///< "[Gloo] ", without time
};

struct Header {
    Shape shape = Shape::none;
    bool sure = false;     ///< nothing but a log looks like this
    std::size_t size = 0;  ///< bytes of the line before its message
    Stamp stamp;
    std::string_view level;  ///< as in LogLine::level
    std::string_view logger;
    std::string_view ranks;  ///< SGLang's words, e.g. "DP0 TP2"
    std::string_view host;
    std::optional<std::int64_t> pid;
};

/// The level that a word names, or an empty text. "WARN" is "WARNING", "FATAL" is "CRITICAL", "TRACE" is "DEBUG".
[[nodiscard]] std::string_view level_of(std::string_view word) noexcept;
/// The level behind a letter of glog (I, W, E, F), or an empty text.
[[nodiscard]] std::string_view level_of(char letter) noexcept;

/// Parallel ranks in words such as "DP0 TP2" or "Worker_DP0_TP1_EP0".
struct ParallelRanks {
    std::optional<std::int64_t> tp, pp;
};
[[nodiscard]] ParallelRanks parallel_ranks(std::string_view words) noexcept;

[[nodiscard]] Header read_header(std::string_view line);

}  // namespace faultline::service_log
