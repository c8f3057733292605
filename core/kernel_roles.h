// What kernels and launches count as when steps are compared: by name without template arguments and numbers, matrix products as one.
//
// One thread; ids are dense and belong to one KernelRoles.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/capture_reader.h"
#include "core/model.h"

namespace faultline {

/// A kernel's name without template arguments, parameters and numbers.
[[nodiscard]] std::string plain_name(std::string_view name);
/// Matrix products and what they bring along (split-k sums): their variants follow the shape of the work.
[[nodiscard]] bool is_matrix_product(std::string_view name);

struct KernelRole {
    std::string text;
    SpanKind kind = SpanKind::kernel;
    bool product = false;  ///< a matrix product
    bool phase = false;    ///< its name tells whether prompts are read or tokens generated
    bool graph_launch = false, kernel_launch = false;
    bool state_scan = false;    ///< of a state space model: reads a prompt into its state
    bool state_update = false;  ///< … and carries the state of a request on by a token
};

class KernelRoles {
public:
    explicit KernelRoles(const CaptureReader& capture) : capture_(capture) {}

    /// Nothing for what does not count: operators (a graph has none; what they launch is counted) and calls that launch nothing.
    [[nodiscard]] std::optional<std::uint32_t> of(SpanKind kind, NameId name);
    [[nodiscard]] const KernelRole& operator[](std::uint32_t id) const { return roles_[id]; }
    [[nodiscard]] std::size_t size() const { return roles_.size(); }

private:
    [[nodiscard]] std::optional<std::uint32_t> make(SpanKind kind, std::string_view name);

    const CaptureReader& capture_;
    std::unordered_map<std::uint64_t, std::optional<std::uint32_t>> by_name_;
    std::map<std::pair<SpanKind, std::string>, std::uint32_t> by_text_;
    std::vector<KernelRole> roles_;
};

}  // namespace faultline
