// One background task at a time, started and restarted from the GUI thread.
//
// start() stops what ran before (its stop token) and gives the new task the next id. The task runs on a QThreadPool, reports through
// Progress, and returns a value that is delivered in the GUI thread. A result or report whose id is no longer the current one is
// dropped, and so is one whose receiver is gone. Destroying the Job stops the task and drops its result; it does not wait.
//
//     job_.start<Result<CallChain>>([path](const Progress& p) { return read_chain(path, p.stop); },
//                                   this, [this](Result<CallChain> chain) { show(std::move(chain)); });
//
// The only mutex of the views lies behind this class: it guards the way back from the worker to an object that may be going away.
#pragma once

#include <QObject>
#include <QPointer>
#include <QThreadPool>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

#include "core/progress.h"

namespace faultline {

class Job : public QObject {
    Q_OBJECT
public:
    /// The pool outlives every task; the global one by default.
    explicit Job(QObject* parent = nullptr, QThreadPool* pool = QThreadPool::globalInstance());
    ~Job() override;

    /// Returns the id of the task, which grows with every start. `work` runs in the pool and touches no QObject.
    template <class T>
    std::uint64_t start(std::function<T(const Progress&)> work, QObject* receiver, std::function<void(T)> deliver) {
        return start_task(
            [work = std::move(work), receiver = QPointer<QObject>(receiver), deliver = std::move(deliver)](const Progress& progress) {
                // The result travels in a shared_ptr, since a queued call must be copyable and T need not be.
                auto result = std::make_shared<T>(work(progress));
                return std::function<void()>([result, receiver, deliver] {
                    if (receiver) deliver(std::move(*result));
                });
            });
    }
    /// Stops the task; nothing of it is delivered any more.
    void cancel();
    /// Asks the task to stop but still delivers what it returns (an import then says that it was cancelled).
    void request_stop();
    [[nodiscard]] bool running() const noexcept { return running_; }
    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

Q_SIGNALS:
    void progress(const faultline::ProgressReport& report);  ///< the newest report; those in between are left out
    void running_changed(bool running);

private:
    struct Way;  ///< from the worker back to this object
    using Task = std::function<std::function<void()>(const Progress&)>;
    std::uint64_t start_task(Task task);
    void finish(std::uint64_t id, const std::function<void()>& deliver);
    void take_report();
    void set_running(bool running);

    QThreadPool* pool_;
    std::shared_ptr<Way> way_;
    std::stop_source stop_;
    std::uint64_t id_ = 0;
    bool running_ = false;
};

}  // namespace faultline
