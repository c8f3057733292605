// Finding places in programs and changing them so that they stay sound: nothing comes between a graph launch and its nodes, ranges stay
// balanced, what is inserted has keys of its own.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "ml/simulator/base/names.h"
#include "ml/simulator/host/host_model.h"

namespace faultline::simulator {

[[nodiscard]] bool is_device_work(const Op& op);  ///< launch or node
[[nodiscard]] bool is_call(const Op& op);         ///< an API call with an event of its own
[[nodiscard]] bool is_gemm(Role role);
[[nodiscard]] bool is_attention(Role role);
[[nodiscard]] bool is_collective(const Op& op);

class ProgramEdit {
public:
    ProgramEdit(Program& program, Names& names) : program_(program), names_(names) {}

    [[nodiscard]] std::size_t size() const { return program_.ops.size(); }
    [[nodiscard]] Op& at(std::size_t i) { return program_.ops[i]; }
    /// The range of a role, the first of these that is there.
    [[nodiscard]] std::optional<std::size_t> range_of(std::initializer_list<Role> roles) const;
    [[nodiscard]] std::size_t end_of(std::size_t push) const;  ///< position of its pop; size() where it stays open
    [[nodiscard]] std::optional<std::size_t> work_of(std::initializer_list<Role> roles, std::size_t from = 0) const;
    [[nodiscard]] std::optional<std::size_t> next_call(std::size_t from) const;
    /// Where host operations may be put at or before `position`.
    [[nodiscard]] std::size_t host_place(std::size_t position) const;

    /// Marks a range as suspect; where it is not in the capture (no name), the first call after it too.
    void mark_range(std::size_t push);
    void mark_call(std::size_t from) {
        if (const auto call = next_call(from)) program_.ops[*call].suspect = true;
    }
    /// Host time at `position`, inside a silent range of `role` (stack samples see it); with `frame` a Python frame of that name.
    std::size_t put_work(std::size_t position, TimeNs cost, Role role, std::string_view frame = {}, bool suspect = true);
    /// An API call; driver calls begin with "cu" and no "cuda". The place after it.
    std::size_t put_call(std::size_t position, std::string_view name, TimeNs cost, Role role, bool suspect = true);
    std::size_t put(std::size_t position, Op op) {
        program_.insert(position, op);
        return position + 1;
    }
    /// Drops everything from `position` on; closes the open ranges where the thread unwinds, leaves them open where it stands still.
    void cut(std::size_t position, bool unwind);
    void wait_for(std::uint32_t signal) { program_.add({.kind = OpKind::wait, .signal = signal}); }

private:
    Program& program_;
    Names& names_;
};

}  // namespace faultline::simulator
