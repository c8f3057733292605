// SIGINT, SIGTERM and SIGHUP as a request to stop, so that a command ends by itself and leaves nothing half-written behind.
#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace faultline {

/// While it lives, the first signal requests the stop and a second one ends the program at once. Made before any other thread is
/// started, since threads inherit which signals are held back.
class SignalStop {
public:
    SignalStop();
    ~SignalStop();
    SignalStop(const SignalStop&) = delete;
    SignalStop& operator=(const SignalStop&) = delete;

    [[nodiscard]] std::stop_token token() const noexcept { return stop_.get_token(); }

private:
    int signal_fd_ = -1;
    int ended_fd_ = -1;
    sigset_t before_{};
    std::stop_source stop_;
    std::jthread waiting_;
};

}  // namespace faultline
