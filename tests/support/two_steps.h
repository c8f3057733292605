// A small capture for tests of views: two decode steps on one thread and one stream, a ledger with one repair and one drop, and a
// health finding. Each step: range > operator > launch → kernel, a graph launch → two kernels; one kernel of the capture has no launch.
#pragma once

#include <QString>
#include <memory>

#include "views/session.h"

namespace faultline::test {

/// Times of a step, in ns since zero of the capture: range [0, 400'000), kernels end at 900'000; the second starts at kSecond.
inline constexpr TimeNs kSecond = 2'000'000;
inline constexpr std::size_t kKernels = 7;

/// Writes the capture; false where that fails.
bool write_two_steps(const QString& path);
/// A capture of one thread with operators only: no step can be found.
bool write_host_only(const QString& path);
/// Reads a capture as the window does; null where it cannot be read.
std::shared_ptr<const LoadedCapture> load(const QString& path);
/// The first span of this name, in the order of tracks; invalid where there is none.
SpanId find_span(const LoadedCapture& capture, std::string_view name);

}  // namespace faultline::test
