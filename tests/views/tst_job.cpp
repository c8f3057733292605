// Background tasks: only the last start delivers, reports arrive, and nothing reaches an object that is gone.
#include <QSignalSpy>
#include <QTest>
#include <atomic>
#include <memory>
#include <semaphore>

#include "views/job.h"

using namespace faultline;

class TestJob : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void a_result_arrives_in_this_thread() {
        Job job;
        QThread* delivered_in = nullptr;
        int result = 0;
        job.start<int>([](const Progress&) { return 42; }, this,
                       [&](int n) {
                           result = n;
                           delivered_in = QThread::currentThread();
                       });
        QVERIFY(job.running());
        QTRY_COMPARE(result, 42);
        QCOMPARE(delivered_in, QThread::currentThread());
        QVERIFY(!job.running());
    }

    void a_result_need_not_be_copyable() {
        Job job;
        int result = 0;
        job.start<std::unique_ptr<int>>([](const Progress&) { return std::make_unique<int>(7); }, this,
                                        [&](std::unique_ptr<int> n) { result = *n; });
        QTRY_COMPARE(result, 7);
    }

    void five_quick_restarts_deliver_only_the_last() {
        QThreadPool pool;
        Job job(nullptr, &pool);
        QList<int> delivered;
        std::atomic<int> stopped = 0;
        for (int i = 0; i < 5; ++i) {
            const auto id = job.start<int>(
                [i, &stopped](const Progress& progress) {
                    // The first four run until they are stopped, as a long computation would.
                    while (i < 4 && !progress.stopped()) std::this_thread::yield();
                    if (i < 4) ++stopped;
                    return i;
                },
                this, [&](int n) { delivered << n; });
            QCOMPARE(id, static_cast<std::uint64_t>(i + 1));
        }
        QTRY_COMPARE(delivered, QList<int>{4});
        pool.waitForDone();
        QCoreApplication::processEvents();
        QCOMPARE(delivered, QList<int>{4});
        QCOMPARE(stopped.load(), 4);
    }

    void a_result_for_an_object_that_is_gone_is_dropped() {
        QThreadPool pool;
        Job job(nullptr, &pool);
        bool delivered = false;
        auto receiver = std::make_unique<QObject>();
        job.start<int>([](const Progress&) { return 1; }, receiver.get(), [&](int) { delivered = true; });
        receiver.reset();
        pool.waitForDone();
        QTRY_VERIFY(!job.running());
        QVERIFY(!delivered);
    }

    void a_job_may_go_while_its_task_runs() {
        QThreadPool pool;
        std::binary_semaphore go(0);
        bool delivered = false;
        bool was_stopped = false;
        {
            Job job(nullptr, &pool);
            job.start<int>(
                [&](const Progress& progress) {
                    go.acquire();
                    was_stopped = progress.stopped();
                    progress({});
                    return 1;
                },
                this, [&](int) { delivered = true; });
        }
        go.release();
        pool.waitForDone();
        QCoreApplication::processEvents();
        QVERIFY(was_stopped);
        QVERIFY(!delivered);
    }

    void cancel_drops_and_request_stop_delivers() {
        QThreadPool pool;
        Job job(nullptr, &pool);
        QList<int> delivered;
        const auto until_stopped = [](const Progress& progress) {
            while (!progress.stopped()) std::this_thread::yield();
            return 1;
        };
        QSignalSpy running(&job, &Job::running_changed);
        job.start<int>(until_stopped, this, [&](int n) { delivered << n; });
        job.cancel();
        QVERIFY(!job.running());
        pool.waitForDone();
        QCoreApplication::processEvents();
        QVERIFY(delivered.isEmpty());
        job.start<int>(until_stopped, this, [&](int n) { delivered << n; });
        job.request_stop();
        QTRY_COMPARE(delivered, QList<int>{1});
        QCOMPARE(running.count(), 4);
    }

    void reports_come_in_order_and_end_with_the_newest() {
        Job job;
        QList<quint64> events;
        connect(&job, &Job::progress, this, [&](const ProgressReport& report) { events << report.events; });
        bool done = false;
        job.start<int>(
            [](const Progress& progress) {
                for (std::uint64_t i = 1; i <= 10'000; ++i) progress({ImportPhase::reading, 0, 0, i});
                return 1;
            },
            this, [&](int) { done = true; });
        QTRY_VERIFY(done);
        QVERIFY(!events.isEmpty());
        QVERIFY(std::is_sorted(events.begin(), events.end()));
        QCOMPARE(events.back(), quint64{10'000});
    }

    void a_report_of_an_older_task_is_dropped() {
        QThreadPool pool;
        Job job(nullptr, &pool);
        QList<quint64> events;
        connect(&job, &Job::progress, this, [&](const ProgressReport& report) { events << report.events; });
        job.start<int>(
            [](const Progress& progress) {
                progress({ImportPhase::reading, 0, 0, 1});
                return 1;
            },
            this, [](int) {});
        pool.waitForDone();
        bool done = false;
        job.start<int>([](const Progress&) { return 2; }, this, [&](int) { done = true; });
        QTRY_VERIFY(done);
        QVERIFY(events.isEmpty());
    }
};

QTEST_GUILESS_MAIN(TestJob)
#include "tst_job.moc"
