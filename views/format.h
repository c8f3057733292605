// Times, durations, sizes and counts as a person reads them, in the locale of the window. Exports do not use these.
#pragma once

#include <QString>
#include <cstdint>
#include <optional>

#include "core/types.h"

namespace faultline {

/// "812 ns", "41.30 µs", "1.904 ms", "12.310 s", "4 min 03 s", "5 h 12 min", "about 199 days"; four figures, the sign kept.
[[nodiscard]] QString duration_text(TimeNs ns);
/// The exact value: "1,904,312 ns".
[[nodiscard]] QString nanoseconds_text(TimeNs ns);
/// A time since zero of the capture, to the nanosecond: "12.310481204 s"; what is days away as duration_text() says it.
[[nodiscard]] QString time_text(TimeNs ns);
/// Local wall clock with its offset: "2024-05-01 14:03:07.118042 UTC+08:00".
[[nodiscard]] QString wall_text(std::int64_t epoch_ns);
/// "13,508"
[[nodiscard]] QString count_text(std::int64_t n);
/// "512 B", "4.0 KiB", "1.25 GiB"
[[nodiscard]] QString bytes_text(std::int64_t bytes);
/// "61 %"; "0.4 %" below one per cent.
[[nodiscard]] QString percent_text(double share);
/// The number, or an en dash where there is none.
[[nodiscard]] QString optional_text(const std::optional<std::int64_t>& n);

}  // namespace faultline
