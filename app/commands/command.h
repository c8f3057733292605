// What every command of the program shares: where it writes, how it is stopped, how it says that something failed.
//
// A command is one file: it declares its options on the CLI11 program and, when it is the one chosen, leaves an action to run.
#pragma once

#include <cstdio>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/capture_reader.h"
#include "core/import_ledger.h"
#include "core/model.h"
#include "core/result.h"

namespace CLI {
class App;
}

namespace faultline {

struct CommandIo {
    std::FILE* out = stdout;
    std::FILE* err = stderr;
    bool err_is_terminal = false;
    bool out_is_terminal = false;
    std::stop_token stop;  ///< requested by SIGINT and SIGTERM
};

/// Runs a command; the value is the exit status (CONTRACT.md).
using CommandAction = std::function<int(const CommandIo&)>;

void add_import_command(CLI::App& program, CommandAction& action);
void add_info_command(CLI::App& program, CommandAction& action);
void add_ledger_command(CLI::App& program, CommandAction& action);
void add_bubbles_command(CLI::App& program, CommandAction& action);
void add_candidates_command(CLI::App& program, CommandAction& action);
void add_chain_command(CLI::App& program, CommandAction& action);
void add_logs_command(CLI::App& program, CommandAction& action);
void add_diagnose_command(CLI::App& program, CommandAction& action);
void add_query_command(CLI::App& program, CommandAction& action);
void add_requests_command(CLI::App& program, CommandAction& action);
void add_simulate_command(CLI::App& program, CommandAction& action);
void add_steps_command(CLI::App& program, CommandAction& action);

/// `faultline: SENTENCE. HINT.` on standard error; returns the exit status of the failure.
int report_failure(const CommandIo& io, const Error& error);

/// Texts on standard output.
void print(const CommandIo& io, std::string_view text);
/// Texts for a person, through printable().
void print_text(const CommandIo& io, std::string_view text);
/// One JSON document and a line end. Bytes that are no UTF-8 are replaced.
void print_json(const CommandIo& io, const nlohmann::ordered_json& json);
/// 0 where everything written has arrived; else says so and returns the status.
[[nodiscard]] int finish_output(const CommandIo& io);

/// A value of a JSON answer: null where it is not known.
[[nodiscard]] nlohmann::ordered_json json_or_null(const std::optional<std::int64_t>& value);
[[nodiscard]] nlohmann::ordered_json json_of(const std::vector<HealthFinding>& health);
[[nodiscard]] nlohmann::ordered_json json_of(const LedgerTotals& totals);
[[nodiscard]] std::string_view severity_name(Severity severity);
[[nodiscard]] std::string_view outcome_name(LedgerOutcome outcome);

/// 1234567 as 1,234,567.
[[nodiscard]] std::string grouped(std::uint64_t number);
/// A duration for a person: 1.234 ms.
[[nodiscard]] std::string duration_text(TimeNs duration);
/// A time for a person: seconds since zero of the capture, 1.234567 s.
[[nodiscard]] std::string time_text(TimeNs time);

/// A text from a capture as it may reach a terminal: control bytes other than line feeds, which could drive it, are shown as \xNN.
[[nodiscard]] std::string printable(std::string_view text);
[[nodiscard]] std::string one_line(std::string text);  ///< line feeds and tabs as blanks

/// A whole number of digits, as an option's check: empty where `text` is one, else what to say.
[[nodiscard]] std::string check_whole_number(const std::string& text);

/// The same with a sign.
[[nodiscard]] std::string check_signed_number(const std::string& text);

/// A table of texts with aligned columns; `right` says which columns hold numbers.
[[nodiscard]] std::string aligned_table(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right);

}  // namespace faultline
