#include "views/job.h"

#include <QMetaObject>
#include <mutex>
#include <optional>

namespace faultline {

struct Job::Way {
    std::mutex mutex;
    Job* job = nullptr;  ///< null once the Job is gone
    std::optional<ProgressReport> report;
    std::uint64_t report_id = 0;
    bool report_posted = false;  ///< a call to take_report() is on its way

    /// Posts a call to the job; does nothing once it is gone.
    template <class Call>
    void post(Call call) {
        const std::lock_guard lock(mutex);
        if (job != nullptr)
            QMetaObject::invokeMethod(
                job, [j = job, call] { call(*j); }, Qt::QueuedConnection);
    }
    void post_report(std::uint64_t id, const ProgressReport& r) {
        const std::lock_guard lock(mutex);
        report = r;
        report_id = id;
        if (job == nullptr || report_posted) return;
        report_posted = true;
        QMetaObject::invokeMethod(
            job, [j = job] { j->take_report(); }, Qt::QueuedConnection);
    }
};

Job::Job(QObject* parent, QThreadPool* pool) : QObject(parent), pool_(pool), way_(std::make_shared<Way>()) { way_->job = this; }

Job::~Job() {
    stop_.request_stop();
    const std::lock_guard lock(way_->mutex);
    way_->job = nullptr;
}

std::uint64_t Job::start_task(Task task) {
    stop_.request_stop();
    stop_ = std::stop_source();
    const std::uint64_t id = ++id_;
    pool_->start([way = way_, id, stop = stop_.get_token(), task = std::move(task)] {
        Progress to_window;
        to_window.stop = stop;
        to_window.report = [way, id](const ProgressReport& r) { way->post_report(id, r); };
        auto deliver = task(to_window);
        way->post([id, deliver = std::move(deliver)](Job& job) { job.finish(id, deliver); });
    });
    set_running(true);
    return id;
}

void Job::cancel() {
    stop_.request_stop();
    if (!running_) return;
    ++id_;
    set_running(false);
}

void Job::request_stop() { stop_.request_stop(); }

void Job::finish(std::uint64_t id, const std::function<void()>& deliver) {
    if (id != id_) return;
    const QPointer<Job> self(this);  // a listener may delete the job
    set_running(false);
    if (self) deliver();
}

void Job::take_report() {
    std::optional<ProgressReport> report;
    std::uint64_t id = 0;
    {
        const std::lock_guard lock(way_->mutex);
        way_->report_posted = false;
        report = std::exchange(way_->report, std::nullopt);
        id = way_->report_id;
    }
    if (report && id == id_ && running_) Q_EMIT progress(*report);
}

void Job::set_running(bool running) {
    if (running_ == running) return;
    running_ = running;
    Q_EMIT running_changed(running);
}

}  // namespace faultline
