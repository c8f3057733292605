#include "ml/simulator/logs/stack_sampler.h"

#include "ml/simulator/logs/stack_tracks.h"

namespace faultline::simulator {
namespace {

class StackSampler final : public Sink {
public:
    StackSampler(const RunOptions& options, const Topology& topology, const Noise& noise, Sink& next)
        : tracks_(options, topology, noise), next_(&next) {}
    StackSampler(const StackSampler&) = delete;
    StackSampler& operator=(const StackSampler&) = delete;
    ~StackSampler() override { tracks_.finish(*next_); }

    void event(const Event& event) override {
        next_->event(event);
        tracks_.add(event, *next_);
    }
    void log(const LogEntry& entry) override { next_->log(entry); }
    void sample(const StackSampleEvent& sample) override { next_->sample(sample); }
    void counter(const CounterEvent& counter) override { next_->counter(counter); }
    void gap(const IdleGap& gap) override { next_->gap(gap); }

private:
    StackTracks tracks_;
    Sink* next_;
};

}  // namespace

std::unique_ptr<Sink> make_stack_sampler(const RunOptions& options, const Topology& topology, const Names& names, const Noise& noise,
                                         Sink& next) {
    (void)names;  // roles say what a range is, whatever its dialect calls it
    return std::make_unique<StackSampler>(options, topology, noise, next);
}

}  // namespace faultline::simulator
