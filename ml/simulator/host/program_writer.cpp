#include "ml/simulator/host/program_writer.h"

#include <algorithm>
#include <utility>

namespace faultline::simulator {
namespace {

/// Python and the dispatcher around an operator (ENGINES §4.5: launch-bound steps cost 10 to 35 us a kernel).
constexpr TimeNs kPythonOfAnOperator = 5'200, kDispatch = 1'700, kView = 700, kSecondKernel = 900;

Op op_of(OpKind kind, Role role, TimeNs cost = 0) {
    Op op;
    op.kind = kind;
    op.role = role;
    op.cost = cost;
    return op;
}

}  // namespace

bool ProgramWriter::has_frame(Role role) const { return kit_.options.recording.python && !kit_.words.frame(role).empty(); }

void ProgramWriter::push_named(Role role, EventKind kind, std::string_view name) {
    Op op = op_of(OpKind::push, role);
    op.event = kind;
    op.name = kit_.names.intern(name);
    program_.add(op);
}

void ProgramWriter::push(Role role) {
    if (has_frame(role)) push_named(role, EventKind::python, kit_.words.frame(role));
    Op op = op_of(OpKind::push, role);
    op.name = kit_.words.range(role);
    program_.add(op);
}

void ProgramWriter::push_text(Role role, const std::string& text) {
    Op op = op_of(OpKind::push, role);
    if (!text.empty()) op.text = program_.add_text(text);
    program_.add(op);
}

void ProgramWriter::pop(Role role) {
    program_.add(op_of(OpKind::pop, role));
    if (has_frame(role)) program_.add(op_of(OpKind::pop, role));
}

void ProgramWriter::pop_one(Role role) { program_.add(op_of(OpKind::pop, role)); }

void ProgramWriter::work(Role role, TimeNs cost) { program_.add(op_of(OpKind::work, role, cost)); }

void ProgramWriter::call(Role role, std::string_view name, TimeNs cost) {
    Op op = op_of(OpKind::call, role, cost);
    op.event = EventKind::runtime_call;
    op.name = kit_.names.intern(name);
    program_.add(op);
}

void ProgramWriter::wait(Role role, std::uint32_t signal) {
    Op op = op_of(OpKind::wait, role);
    op.signal = signal;
    program_.add(op);
}

void ProgramWriter::set(std::uint32_t signal, TimeNs transport) {
    Op op = op_of(OpKind::signal, Role::none, transport);
    op.signal = signal;
    program_.add(op);
}

void ProgramWriter::record(std::uint32_t event, StreamIndex stream) {
    Op op = op_of(OpKind::record_event, Role::event_record, 1'400);
    op.event = EventKind::runtime_call;
    op.name = kit_.names.intern("cudaEventRecord");
    op.stream = stream;
    op.signal = event;
    program_.add(op);
}

void ProgramWriter::wait_event(std::uint32_t event) {
    Op op = op_of(OpKind::sync_event, Role::stream_sync, 2'200);
    op.event = EventKind::runtime_call;
    op.name = kit_.names.intern("cudaEventSynchronize");
    op.signal = event;
    program_.add(op);
}

void ProgramWriter::operation(const Op& op) {
    Op own = op;
    if (own.kind == OpKind::record_event || own.kind == OpKind::stream_wait) {
        const auto [place, added] = events_.try_emplace(own.signal, 0);
        if (added) place->second = machine_->new_signal();
        own.signal = place->second;
    }
    program_.add(own);
}

void ProgramWriter::close_path(std::size_t keep) {
    for (; open_.size() > keep; open_.pop_back()) pop_one(Role::none);
}

void ProgramWriter::open_path(const LaunchPath& path, Role role, bool joins) {
    const std::size_t most = joins ? path.entries.size() : std::min(path.shared, path.entries.size());
    std::size_t common = 0;
    while (common < most && common < open_.size() && open_[common] == path.entries[common]) ++common;
    close_path(common);
    if (common == path.entries.size() && common > 0) return work(role, kSecondKernel);
    bool viewed = false, thought = false;
    for (std::size_t i = common; i < path.entries.size(); ++i) {
        const LaunchPath::Entry& entry = path.entries[i];
        if (entry.kind == EventKind::op && !std::exchange(thought, true)) work(role, kPythonOfAnOperator);
        Op op = op_of(OpKind::push, role);
        op.event = entry.kind;
        op.name = entry.name;
        program_.add(op);
        open_.push_back(entry);
        if (entry.kind != EventKind::op || i < path.shared || std::exchange(viewed, true)) continue;
        work(role, kDispatch);
        for (const std::vector<Name>& chain : path.views) {
            for (const Name name : chain) {
                op.name = name;
                program_.add(op);
            }
            work(role, kView);
            close(role, static_cast<int>(chain.size()));
        }
    }
    if (!thought) work(role, kPythonOfAnOperator);
}

void ProgramWriter::questions(const LaunchPath& path) {
    for (const Name name : path.questions) {
        Op op = op_of(OpKind::call, Role::query, kit_.names.text(name).ends_with("Version") ? 150 : 500);
        op.event = EventKind::runtime_call;
        op.name = name;
        program_.add(op);
    }
}

void ProgramWriter::launch(const Op& op) {
    const LaunchPath& path = kit_.paths.of(op, false);
    open_path(path, op.role, before_ && LaunchPaths::joins(op, *before_));
    questions(path);
    operation(op);
    before_ = op;
}

void ProgramWriter::graph(const std::vector<Op>& ops, std::size_t& i) {
    const LaunchPath& path = kit_.paths.of(ops[std::min(i + 1, ops.size() - 1)], true);
    open_path(path, Role::graph, false);
    push(Role::graph);
    work(Role::graph, 9'000);
    questions(path);
    program_.add(ops[i]);
    while (i + 1 < ops.size() && ops[i + 1].kind == OpKind::node) program_.add(ops[++i]);
    pop(Role::graph);
    before_.reset();
}

void ProgramWriter::operations(const std::vector<Op>& ops) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].kind == OpKind::graph_launch) {
            graph(ops, i);
        } else if (ops[i].kind == OpKind::launch) {
            launch(ops[i]);
        } else {
            close_path(0);
            operation(ops[i]);
        }
    }
    close_path(0);
    before_.reset();
}

void ProgramWriter::push_base(BaseFrames which) {
    if (!kit_.options.recording.python) return;
    for (const std::string_view frame : kit_.words.base_frames(which)) push_named(Role::none, EventKind::python, frame);
}

void ProgramWriter::pop_base(BaseFrames which) {
    if (kit_.options.recording.python) close(Role::none, static_cast<int>(kit_.words.base_frames(which).size()));
}

}  // namespace faultline::simulator
