// The tables of an Nsight Systems export as CREATE statements, of schema 3.28 and of 3.0 (FORMATS §1.1, §1.3).
#pragma once

#include <string_view>

namespace faultline::simulator {

[[nodiscard]] std::string_view nsys_tables();        ///< 2026, schema 3.28
[[nodiscard]] std::string_view nsys_older_tables();  ///< 2022.4, schema 3.0

}  // namespace faultline::simulator
