#include "made_analysis.h"

#include "made_capture.h"

namespace faultline::test {

namespace {

LogLine line(std::int64_t id, std::optional<TimeNs> time, const char* level, const char* text) {
    LogLine l;
    l.id = id;
    l.time = time;
    l.resolution_ns = 1'000'000;
    l.level = level;
    l.logger = id % 2 ? "core.py:88" : "scheduler.py:12";
    l.text = text;
    return l;
}

void judge(LoadedCapture& c) {
    for (std::size_t i = 0; i < c.steps.size(); ++i) {
        StepVerdict v;
        v.step = c.steps[i].id;
        v.rule = "p99-ransac";
        v.expected_ns = (c.steps[i].end - c.steps[i].start) * 10 / 11;
        v.ratio = 1.1;
        v.bound = StepBound::gpu;
        c.verdicts.push_back(v);
    }
    StepVerdict& slow = c.verdicts[kSlowStep];
    slow.outlier = true;
    slow.reasons = reason_slow;
    slow.expected_ns = (c.steps[kSlowStep].end - c.steps[kSlowStep].start) / 2;
    slow.ratio = 2.0;
    slow.bound = StepBound::cpu;
    slow.sentence = "it lasted twice as long as expected";
    StepVerdict& odd = c.verdicts[kOddStep];
    odd.outlier = true;
    odd.reasons = reason_structure;
    odd.sentence = "two kernels of its reference steps are missing";
    Step stall;
    stall.id = StepId{100};
    stall.kind = StepKind::stall;
    stall.name = "stall";
    stall.start = 9 * kStepNs + 3'600'000;
    stall.end = 10 * kStepNs;
    c.steps.push_back(stall);
    StepVerdict stalled;
    stalled.step = stall.id;
    stalled.outlier = true;
    stalled.reasons = reason_stall;
    stalled.sentence = "three requests were live and nothing happened for 400 µs";
    c.verdicts.push_back(stalled);
    c.rooflines.push_back({c.steps[0].instance, c.steps[0].phase, "p99-ransac", 3.2e6, 2e4, 12, 3, 0.93});
}

void add_requests(LoadedCapture& c) {
    const char* names[kRequests] = {"req-a", "req-b", "req-c", "req-d"};
    for (std::size_t r = 0; r < kRequests; ++r) {
        Request request;
        request.id = static_cast<std::int64_t>(r) + 1;
        request.name = names[r];
        const std::size_t first = r * 2, last = std::min<std::size_t>(first + 5, 11);
        for (std::size_t s = first; s <= last; ++s) request.steps.push_back(c.steps[s].id);
        if (r != 3) request.arrival = c.steps[first].start - (r == 0 ? 0 : 1'500'000);
        request.first_token = c.steps[first].end;
        request.end = c.steps[last].end;
        if (request.arrival) request.ttft_ns = *request.first_token - *request.arrival;
        request.aborted = r == 2;
        c.requests.push_back(request);
    }
}

void add_log(LoadedCapture& c) {
    const TimeNs slow = c.steps[kSlowStep].start;
    c.logs = {line(8, std::nullopt, "INFO", "started"),
              line(1, 500'000, "INFO", "Added request req-a."),
              line(2, c.steps[2].start - 1'000'000, "INFO", "Added request req-b."),
              line(3, slow + 1'200'000, "WARNING", "nccl watchdog waits"),
              line(4, slow + 1'500'000, "ERROR", "allocation of 2 GiB failed\nTraceback (most recent call last):\n  boom"),
              line(5, slow + 2'000'000, "INFO", "Running: 3 reqs, Waiting: 1 reqs"),
              line(6, c.steps[7].end, "INFO", "Finished request req-b."),
              line(7, c.steps[11].start, "DEBUG", "tick")};
    c.line_requests.assign(c.logs.size(), {});
    c.line_requests[1] = {0};
    c.line_requests[2] = {1};
    c.line_requests[6] = {1};
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}, std::size_t{6}}) {
        c.logs[i].request = i == 1 ? "req-a" : "req-b";
        c.logs[i].method = AlignMethod::request;
    }
}

}  // namespace

std::shared_ptr<LoadedCapture> made_analysis(const QString& folder) {
    const auto made = made_capture(folder);
    if (!made) return nullptr;
    auto c = std::make_shared<LoadedCapture>(*made);
    judge(*c);
    add_requests(*c);
    add_log(*c);
    const DeviceId device = c->reader->devices().front().id;
    Bubble cpu;
    cpu.id = 1;
    cpu.device = device;
    cpu.start = kHole.start;
    cpu.duration = kHole.duration();
    cpu.cause = BubbleCause::cpu;
    cpu.host_span = span_named(*c, SpanKind::op, "aten::linear", 55);
    Bubble unknown = cpu;
    unknown.id = 2;
    unknown.start = 9 * kStepNs + 3'500'000;
    unknown.duration = 400'000;
    unknown.cause = BubbleCause::unknown;
    unknown.host_span = {};
    c->bubbles = {cpu, unknown};
    return c;
}

void lengthen_log(LoadedCapture& c, std::size_t lines) {
    const TimeNs end = c.steps[11].end;
    c.logs.clear();
    for (std::size_t i = 0; i < lines; ++i) {
        const TimeNs at = end / static_cast<TimeNs>(lines) * static_cast<TimeNs>(i);
        c.logs.push_back(line(static_cast<std::int64_t>(i) + 1, at, i % 1'000 == 999 ? "ERROR" : "INFO",
                              i % 7 == 0 ? "Running: 3 reqs, Waiting: 1 reqs" : "GPU KV cache usage: 12.5%"));
    }
    c.line_requests.assign(lines, {});
}

}  // namespace faultline::test
