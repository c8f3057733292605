#include "ml/simulator/workload/arrivals.h"

#include <algorithm>
#include <cassert>
#include <functional>

#include <fmt/format.h>

namespace faultline::simulator {
namespace {

constexpr int kBurst = 8;
constexpr int kPrefixGroups = 4;
constexpr int kShortestPrompt = 8;
/// What a client of a closed loop waits between an answer and its next question, on average.
constexpr double kThinkNs = 150e6;
constexpr double kFirstQuestionsNs = 400e6;
/// Share of answers that end by themselves; the others reach what their client allows.
constexpr double kEndsItself = 0.8;

bool is_batch(Engine engine) { return engine == Engine::vllm_v1_offline || engine == Engine::fsdp; }

std::string request_id(Engine engine, const Noise& noise, RequestNumber number) {
    const std::uint64_t a = noise.bits(Draw::request_id, number, 0), b = noise.bits(Draw::request_id, number, 1);
    switch (engine) {
        case Engine::vllm_v1_online: return fmt::format("chatcmpl-{:016x}{:016x}-{:08x}", a, b, noise.bits(Draw::request_id, number, 2) >> 32);
        case Engine::vllm_v0: return fmt::format("chatcmpl-{:016x}{:016x}", a, b);
        case Engine::vllm_v1_offline: return fmt::format("cmpl-{:016x}-0", a);
        case Engine::sglang: return fmt::format("{:016x}{:016x}", a, b);
        case Engine::fsdp: return fmt::format("batch-{:016x}", a);
    }
    return {};
}

int tokens(double drawn, int least, int most) { return std::clamp(static_cast<int>(drawn), least, std::max(least, most)); }

/// All that a request is, whenever it comes.
Request make_request(const RunOptions& options, const Noise& noise, RequestNumber n) {
    const Workload& w = options.workload;
    Request r;
    r.number = n;
    r.id = request_id(options.deployment.engine, noise, n);
    r.prompt_tokens = tokens(noise.log_normal(w.prompt_median, w.prompt_spread, Draw::prompt_length, n), kShortestPrompt, w.prompt_max);
    r.output_tokens = tokens(noise.log_normal(w.output_median, w.output_spread, Draw::output_length, n), 1, w.output_max);
    r.max_tokens = noise.chance(kEndsItself, Draw::output_length, n, 1) ? std::max(w.output_max, r.output_tokens) : r.output_tokens;
    if (noise.chance(w.shared_prefix, Draw::prefix, n)) {
        r.prefix_group = static_cast<int>(noise.below(kPrefixGroups, Draw::prefix, n, 1));
        const auto common = static_cast<int>(128 + noise.below(512, Draw::prefix, static_cast<std::uint64_t>(r.prefix_group), 2));
        r.prefix_tokens = std::min(common, w.prompt_max / 2);
        r.prompt_tokens = std::min(r.prompt_tokens + r.prefix_tokens, std::max(w.prompt_max, r.prefix_tokens + kShortestPrompt));
    }
    r.random = noise.chance(w.random_sampling, Draw::sampling, n, 0);
    r.top_k = r.random && noise.chance(w.top_k, Draw::sampling, n, 1);
    r.penalties = noise.chance(w.penalties, Draw::sampling, n, 2);
    r.guided = noise.chance(w.guided, Draw::sampling, n, 3);
    r.logprobs = noise.chance(w.logprobs, Draw::sampling, n, 4);
    if (!is_batch(options.deployment.engine) && r.output_tokens > 2 && noise.chance(w.aborts, Draw::abort, n)) {
        r.abort_after = 1 + static_cast<int>(noise.below(static_cast<std::uint64_t>(r.output_tokens - 1), Draw::abort, n, 1));
    }
    return r;
}

}  // namespace

ArrivalSource::ArrivalSource(const RunOptions& options, const Noise& noise, TimeNs start)
    : options_(options), noise_(noise), start_(start), next_(start) {
    const bool batch = is_batch(options_.deployment.engine);
    if (batch) options_.workload.arrivals = Arrivals::closed_loop;
    if (options_.workload.arrivals == Arrivals::closed_loop) {
        for (int c = 0; c < options_.workload.clients; ++c) {
            const double wait = batch ? 0 : kFirstQuestionsNs * noise_.uniform(Draw::arrival, static_cast<std::uint64_t>(c), 1);
            free_clients_.push_back(start + static_cast<TimeNs>(wait));
        }
        std::make_heap(free_clients_.begin(), free_clients_.end(), std::greater<>());
    } else {
        next_ += static_cast<TimeNs>(1e9 / std::max(options_.workload.rate, 1e-6) * noise_.exponential(Draw::arrival, 0));
    }
}

std::optional<TimeNs> ArrivalSource::next_time() const {
    if (stopped_) return std::nullopt;
    if (options_.workload.arrivals != Arrivals::closed_loop) return next_;
    return free_clients_.empty() ? std::nullopt : std::optional(free_clients_.front());
}

Request ArrivalSource::take() {
    Request request = make_request(options_, noise_, number_);
    request.sent = *next_time();
    ++number_;
    if (options_.workload.arrivals == Arrivals::closed_loop) {
        std::pop_heap(free_clients_.begin(), free_clients_.end(), std::greater<>());
        free_clients_.pop_back();
        return request;
    }
    const double gap = 1e9 / std::max(options_.workload.rate, 1e-6) * noise_.exponential(Draw::arrival, number_);
    if (options_.workload.arrivals == Arrivals::poisson) {
        next_ += static_cast<TimeNs>(gap);
    } else {
        next_ += number_ % kBurst == 0 ? static_cast<TimeNs>(gap * kBurst) : static_cast<TimeNs>(1e6 * noise_.uniform(Draw::arrival, number_, 2));
    }
    return request;
}

void ArrivalSource::answered(const Request& request, TimeNs time) {
    if (options_.workload.arrivals != Arrivals::closed_loop) return;
    const double think = is_batch(options_.deployment.engine) ? 0 : kThinkNs * noise_.exponential(Draw::arrival, request.number, 3);
    free_clients_.push_back(time + static_cast<TimeNs>(think));
    std::push_heap(free_clients_.begin(), free_clients_.end(), std::greater<>());
}

}  // namespace faultline::simulator
