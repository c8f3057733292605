#include "ml/simulator/logs/stack_sampler.h"

#include "ml/simulator/base/passing_sink.h"
#include "ml/simulator/logs/stack_tracks.h"

namespace faultline::simulator {
namespace {

class StackSampler final : public PassingSink {
public:
    StackSampler(const RunOptions& options, const Topology& topology, const Noise& noise, Sink& next)
        : PassingSink(next), tracks_(options, topology, noise) {}
    StackSampler(const StackSampler&) = delete;
    StackSampler& operator=(const StackSampler&) = delete;
    ~StackSampler() override { tracks_.finish(next_); }

    void event(const Event& event) override {
        next_.event(event);
        tracks_.add(event, next_);
    }

private:
    StackTracks tracks_;
};

}  // namespace

std::unique_ptr<Sink> make_stack_sampler(const RunOptions& options, const Topology& topology, const Names& names, const Noise& noise,
                                         Sink& next) {
    (void)names;  // roles say what a range is, whatever its dialect calls it
    return std::make_unique<StackSampler>(options, topology, noise, next);
}

}  // namespace faultline::simulator
