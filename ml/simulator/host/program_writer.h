// Writes programs: ranges by role, host work, and the operations of the device model with operators and Python frames around them. One thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ml/simulator/device/device_model.h"
#include "ml/simulator/host/launch_paths.h"
#include "ml/simulator/host/span_words.h"
#include "ml/simulator/machine/machine.h"

namespace faultline::simulator {

/// What writers of one engine share.
struct WritingKit {
    const RunOptions& options;
    const SpanWords& words;
    const LaunchPaths& paths;
    Names& names;
};

class ProgramWriter {
public:
    /// `machine` gives numbers to events; null where a program has none.
    ProgramWriter(const WritingKit& kit, Machine* machine, StepNumber step) : kit_(kit), machine_(machine) { program_.step = step; }

    void push(Role role);  ///< a range of the dialect's name, silent where it has none; its Python frame around it
    void push_text(Role role, const std::string& text);  ///< without a frame; silent where the text is empty
    void push_named(Role role, EventKind kind, std::string_view name);
    void pop(Role role);  ///< what push() opened
    void pop_one(Role role);  ///< what push_text() or push_named() opened
    void push_base(BaseFrames which);  ///< the frames below a step, where Python is recorded
    void pop_base(BaseFrames which);
    void work(Role role, TimeNs cost);
    void call(Role role, std::string_view name, TimeNs cost);
    void wait(Role role, std::uint32_t signal);
    void set(std::uint32_t signal, TimeNs transport);
    void record(std::uint32_t event, StreamIndex stream);
    void wait_event(std::uint32_t event);
    /// Operations of the device model with the frames and operators that launch them; events of record_event and stream_wait get numbers of the machine.
    void operations(const std::vector<Op>& ops);

    [[nodiscard]] Program take() { return std::move(program_); }

private:
    void operation(const Op& op);
    void launch(const Op& op);
    void graph(const std::vector<Op>& ops, std::size_t& i);
    /// Opens the path of a launch where the path before it ends to be the same; closes what is not of it.
    void open_path(const LaunchPath& path, Role role, bool joins);
    void close_path(std::size_t keep);
    void questions(const LaunchPath& path);
    void close(Role role, int frames) {
        for (; frames > 0; --frames) pop_one(role);
    }
    [[nodiscard]] bool has_frame(Role role) const;

    const WritingKit& kit_;
    Machine* machine_;
    Program program_;
    std::map<std::uint32_t, std::uint32_t> events_;
    std::vector<LaunchPath::Entry> open_;  ///< of the path of the launch before
    std::optional<Op> before_;
};

}  // namespace faultline::simulator
