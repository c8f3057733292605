#include "ml/simulator/host/program_writer.h"

#include <algorithm>

#include <fmt/format.h>

namespace faultline::simulator {
namespace {

/// Python and the dispatcher around an operator (ENGINES §4.5: launch-bound steps cost 10 to 35 us a kernel).
constexpr TimeNs kPythonOfAnOperator = 5'200, kDispatch = 1'700;

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

void ProgramWriter::operations(const std::vector<Op>& ops) {
    const bool operators = kit_.options.recording.operators;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const Op& op = ops[i];
        if (op.kind == OpKind::graph_launch) {
            push(Role::graph);
            work(Role::graph, 9'000);
            questions(Role::graph);
            program_.add(op);
            while (i + 1 < ops.size() && ops[i + 1].kind == OpKind::node) program_.add(ops[++i]);
            pop(Role::graph);
            continue;
        }
        const SpanWords::Operators around = kit_.words.operators(op.role);
        const bool launches = op.kind == OpKind::launch;
        const int frames = launches ? open_module(op) : 0;
        if (launches) {
            work(op.role, kPythonOfAnOperator);
            questions(op.role);
        }
        if (!launches || !operators || around.outer.empty()) {
            operation(op);
            close(op.role, frames);
            continue;
        }
        push_named(op.role, EventKind::op, around.outer);
        work(op.role, kDispatch);
        views(op.role);
        if (!around.inner.empty()) push_named(op.role, EventKind::op, around.inner);
        // Collectives of torch: the process group's own range lies innermost.
        const bool of_torch = op.role == Role::all_gather;
        if (of_torch) push_named(op.role, EventKind::op, "nccl:_all_gather_base");
        operation(op);
        if (of_torch) pop_one(op.role);
        if (!around.inner.empty()) pop_one(op.role);
        pop_one(op.role);
        close(op.role, frames);
    }
}

void ProgramWriter::views(Role role) {
    constexpr TimeNs kView = 700;
    for (std::string_view chain : SpanWords::views(role)) {
        int opened = 0;
        while (!chain.empty()) {
            const std::size_t end = std::min(chain.find('>'), chain.size());
            push_named(role, EventKind::op, chain.substr(0, end));
            ++opened;
            chain.remove_prefix(std::min(end + 1, chain.size()));
        }
        work(role, kView);
        close(role, opened);
    }
}

void ProgramWriter::questions(Role role) {
    for (const std::string_view name : kit_.words.questions(role)) call(Role::query, name, name.ends_with("Version") ? 150 : 500);
}

void ProgramWriter::push_base() {
    if (!kit_.options.recording.python) return;
    for (const std::string_view frame : kit_.words.base_frames()) push_named(Role::none, EventKind::python, frame);
}

void ProgramWriter::pop_base() {
    if (kit_.options.recording.python) close(Role::none, static_cast<int>(kit_.words.base_frames().size()));
}

int ProgramWriter::open_module(const Op& op) {
    if (!kit_.options.recording.python || op.layer < 0) return 0;
    const SpanWords::Module module = SpanWords::module(op.role);
    if (module.function.empty()) return 0;
    int frames = 0;
    const auto open = [&](std::string_view name) {
        push_named(op.role, EventKind::python, name);
        ++frames;
    };
    if (!module.name.empty()) {
        open(fmt::format("nn.Module: {}_{}", module.name, op.layer));
        open("torch/nn/modules/module.py(1779): _call_impl");
    }
    open(module.function);
    return frames;
}

}  // namespace faultline::simulator
