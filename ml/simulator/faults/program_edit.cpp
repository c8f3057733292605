#include "ml/simulator/faults/program_edit.h"

#include <algorithm>

namespace faultline::simulator {

bool is_device_work(const Op& op) { return op.kind == OpKind::launch || op.kind == OpKind::node; }

bool is_call(const Op& op) {
    switch (op.kind) {
        case OpKind::call:
        case OpKind::launch:
        case OpKind::graph_launch:
        case OpKind::record_event:
        case OpKind::stream_wait:
        case OpKind::sync_stream:
        case OpKind::sync_event: return true;
        default: return false;
    }
}

bool is_gemm(Role role) {
    switch (role) {
        case Role::qkv_gemm:
        case Role::o_gemm:
        case Role::gate_up_gemm:
        case Role::down_gemm:
        case Role::router_gemm:
        case Role::moe_up:
        case Role::moe_down:
        case Role::lm_head: return true;
        default: return false;
    }
}

bool is_attention(Role role) { return role == Role::attention || role == Role::attention_prepare || role == Role::attention_combine; }

bool is_collective(const Op& op) { return is_device_work(op) && op.group != kNoGroup; }

std::optional<std::size_t> ProgramEdit::range_of(std::initializer_list<Role> roles) const {
    for (const Role role : roles) {
        for (std::size_t i = 0; i < program_.ops.size(); ++i) {
            if (program_.ops[i].kind == OpKind::push && program_.ops[i].role == role) return i;
        }
    }
    return std::nullopt;
}

std::size_t ProgramEdit::end_of(std::size_t push) const {
    int depth = 0;
    for (std::size_t i = push; i < program_.ops.size(); ++i) {
        if (program_.ops[i].kind == OpKind::push) ++depth;
        if (program_.ops[i].kind == OpKind::pop && --depth == 0) return i;
    }
    return program_.ops.size();
}

std::optional<std::size_t> ProgramEdit::work_of(std::initializer_list<Role> roles, std::size_t from) const {
    for (std::size_t i = from; i < program_.ops.size(); ++i) {
        const Op& op = program_.ops[i];
        if (is_device_work(op) && std::find(roles.begin(), roles.end(), op.role) != roles.end()) return i;
    }
    return std::nullopt;
}

std::optional<std::size_t> ProgramEdit::next_call(std::size_t from) const {
    for (std::size_t i = from; i < program_.ops.size(); ++i) {
        if (is_call(program_.ops[i])) return i;
    }
    return std::nullopt;
}

std::size_t ProgramEdit::host_place(std::size_t position) const {
    std::size_t place = std::min(position, program_.ops.size());
    while (place > 0 && place < program_.ops.size() && program_.ops[place].kind == OpKind::node) --place;
    return place;
}

void ProgramEdit::mark_range(std::size_t push) {
    Op& range = program_.ops[push];
    range.suspect = true;
    if (range.name == Name::none && range.text == 0) mark_call(push);
}

std::size_t ProgramEdit::put_work(std::size_t position, TimeNs cost, Role role, std::string_view frame, bool suspect) {
    Op push{.kind = OpKind::push, .event = frame.empty() ? EventKind::range : EventKind::python, .role = role, .suspect = suspect};
    if (!frame.empty()) push.name = names_.intern(frame);
    program_.insert(position, push);
    program_.insert(position + 1, {.kind = OpKind::work, .suspect = suspect, .cost = cost});
    program_.insert(position + 2, {.kind = OpKind::pop});
    return position + 3;
}

std::size_t ProgramEdit::put_call(std::size_t position, std::string_view name, TimeNs cost, Role role, bool suspect) {
    const bool driver = name.starts_with("cu") && !name.starts_with("cuda");
    program_.insert(position, {.kind = OpKind::call,
                               .event = driver ? EventKind::driver_call : EventKind::runtime_call,
                               .role = role,
                               .suspect = suspect,
                               .name = names_.intern(name),
                               .cost = cost});
    return position + 1;
}

void ProgramEdit::cut(std::size_t position, bool unwind) {
    position = host_place(position);
    int depth = 0;
    for (std::size_t i = 0; i < position; ++i) {
        if (program_.ops[i].kind == OpKind::push) ++depth;
        if (program_.ops[i].kind == OpKind::pop) --depth;
    }
    program_.ops.resize(position);
    for (; unwind && depth > 0; --depth) program_.add({.kind = OpKind::pop});
}

}  // namespace faultline::simulator
