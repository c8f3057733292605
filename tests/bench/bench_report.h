// What a benchmark prints: a table, or with --json the document of CONTRACT.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace faultline::bench {

struct Row {
    std::string what;  ///< "case" of the JSON
    double value = 0;
    std::string unit;
    std::optional<double> limit;  ///< what the machine can do, measured in the same run
    std::optional<double> goal;   ///< what is wanted: a ratio where there is a limit, else a value
};

class Report {
public:
    Report(std::string name, bool json) : name_(std::move(name)), json_(json) {}
    void add(Row row) { rows_.push_back(std::move(row)); }
    void print() const;

private:
    std::string name_;
    bool json_;
    std::vector<Row> rows_;
};

[[nodiscard]] double median(std::vector<double> values);
/// Wall clock in seconds since some start.
[[nodiscard]] double now();

/// Runs `work` as often as asked and gives the median of its wall seconds.
template <class Work>
[[nodiscard]] double median_seconds(int times, Work work) {
    std::vector<double> seconds;
    for (int i = 0; i < times; ++i) {
        const double start = now();
        work();
        seconds.push_back(now() - start);
    }
    return median(std::move(seconds));
}

}  // namespace faultline::bench
