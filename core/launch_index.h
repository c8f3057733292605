// Which device spans an API call launched, found without reading the capture: what lights up the work under a selected span.
//
// Built once, off the GUI thread, then const and shared by any number of threads. 16 bytes a bound device span.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "core/capture_reader.h"
#include "core/result.h"
#include "core/types.h"

namespace faultline {

class LaunchIndex {
public:
    struct Entry {
        SpanId call;
        SpanId device_span;
        friend constexpr auto operator<=>(const Entry&, const Entry&) = default;
    };

    /// Reads the `launch` column of every device track. Cancelled by `stop`.
    [[nodiscard]] static Result<std::shared_ptr<const LaunchIndex>> build(const CaptureReader& capture, std::stop_token stop = {});

    /// What the calls [first, last) of one track launched, by call.
    [[nodiscard]] std::span<const Entry> launched(SpanId first, SpanId last) const noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

private:
    std::vector<Entry> entries_;  ///< sorted
};

}  // namespace faultline
