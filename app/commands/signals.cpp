#include "app/commands/signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>

#include "core/result.h"

namespace faultline {

namespace {

/// A handler may do next to nothing; a thread that waits for the signals may request the stop. Ends when `ended` can be read.
void wait_for_signals(int signals, int ended, std::stop_source stop) {
    for (;;) {
        pollfd both[] = {{signals, POLLIN, 0}, {ended, POLLIN, 0}};
        if (poll(both, 2, -1) < 0) continue;  // interrupted
        if (both[1].revents != 0) return;
        signalfd_siginfo signal{};
        if (read(signals, &signal, sizeof signal) != static_cast<ssize_t>(sizeof signal)) continue;
        if (stop.stop_requested()) std::_Exit(exit_status(ErrorCode::cancelled));
        stop.request_stop();
    }
}

}  // namespace

SignalStop::SignalStop() {
    // A file at its size limit is an output that cannot be written, with a sentence and a status, and not the end of the program.
    std::signal(SIGXFSZ, SIG_IGN);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);  // the terminal was closed
    signal_fd_ = signalfd(-1, &signals, SFD_CLOEXEC);
    ended_fd_ = eventfd(0, EFD_CLOEXEC);
    if (signal_fd_ < 0 || ended_fd_ < 0) return;  // out of descriptors: the signals end the program, as they do without this
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
    waiting_ = std::jthread([fd = signal_fd_, ended = ended_fd_, stop = stop_] { wait_for_signals(fd, ended, stop); });
}

SignalStop::~SignalStop() {
    if (waiting_.joinable()) {
        const std::uint64_t one = 1;
        while (write(ended_fd_, &one, sizeof one) < 0) {
        }
        waiting_.join();
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    if (signal_fd_ >= 0) close(signal_fd_);
    if (ended_fd_ >= 0) close(ended_fd_);
}

}  // namespace faultline
