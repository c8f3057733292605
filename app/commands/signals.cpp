#include "app/commands/signals.h"

#include <pthread.h>

#include <cerrno>
#include <ctime>

#include "core/result.h"

namespace faultline {

namespace {

/// A handler may do next to nothing; a thread that waits for the signals may request the stop.
void wait_for_signals(const std::stop_token& ended, sigset_t signals, std::stop_source stop) {
    const timespec patience{0, 50'000'000};
    while (!ended.stop_requested()) {
        const int signal = sigtimedwait(&signals, nullptr, &patience);
        if (signal < 0) continue;
        if (stop.stop_requested()) std::_Exit(exit_status(ErrorCode::cancelled));
        stop.request_stop();
    }
}

}  // namespace

SignalStop::SignalStop() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    waiting_ = std::jthread([signals = signals_, stop = stop_](const std::stop_token& ended) { wait_for_signals(ended, signals, stop); });
}

SignalStop::~SignalStop() {
    waiting_ = {};
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace faultline
