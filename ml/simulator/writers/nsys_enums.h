// The tables of an Nsight Systems export that say what its numbers mean (ENUM_*), of the columns that are written here.
#pragma once

#include "core/result.h"
#include "core/sql.h"

namespace faultline::simulator {

/// `older`: as 2022.4 writes them (FORMATS §1.1), with fewer rows and one table misspelt.
[[nodiscard]] Result<void> write_nsys_enums(sql::Connection& db, bool older);

}  // namespace faultline::simulator
