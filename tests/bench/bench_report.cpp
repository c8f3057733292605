#include "tests/bench/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

namespace faultline::bench {

namespace {

using Json = nlohmann::ordered_json;

std::optional<double> ratio_of(const Row& row) {
    if (!row.limit || *row.limit <= 0) return std::nullopt;
    return row.value / *row.limit;
}

std::string number(const std::optional<double>& value) { return value ? fmt::format("{:.4g}", *value) : "-"; }
Json json_number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

}  // namespace

void Report::print() const {
    if (json_) {
        Json rows = Json::array();
        for (const Row& row : rows_)
            rows.push_back(Json{{"case", row.what},
                                {"value", row.value},
                                {"unit", row.unit},
                                {"limit", json_number(row.limit)},
                                {"ratio", json_number(ratio_of(row))},
                                {"goal", json_number(row.goal)}});
        fmt::print("{}\n", Json{{"name", name_}, {"rows", rows}}.dump(2));
        return;
    }
    fmt::print("{}\n{:<52} {:>10} {:<8} {:>10} {:>8} {:>8}\n", name_, "case", "value", "unit", "limit", "ratio", "goal");
    for (const Row& row : rows_)
        fmt::print("{:<52} {:>10.4g} {:<8} {:>10} {:>8} {:>8}\n", row.what, row.value, row.unit, number(row.limit), number(ratio_of(row)),
                   number(row.goal));
}

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace faultline::bench
