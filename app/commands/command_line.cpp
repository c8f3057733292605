#include "app/commands/command_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands/command.h"
#include "app/commands/signals.h"

namespace faultline {

namespace {

constexpr const char* kDescription =
    "Faultline finds out why a request or a step of LLM inference was slow or wrong.\n"
    "Without a command, or with `open`, it starts the window.";

constexpr const char* kFooter =
    "Exit status: 0 done; 1 done, and a fault was found; 2 wrong usage; 3 the input cannot be used; 4 the output cannot be written;\n"
    "5 cancelled; 6 a part is not available here.\n"
    "Help on a command: faultline help COMMAND";

/// What the parsed line asks for besides a command of its own file.
struct Line {
    CommandAction action;
    WindowRequest window;
    bool open = false;
    bool help = false;
    std::string help_on;
};

void add_open_command(CLI::App& program, Line& line) {
    CLI::App* const open =
        program.add_subcommand("open", "Start the window; a .faultline file opens, any other file is imported into a new one");
    open->add_option("FILE", line.window.files, "Captures or traces");
    open->add_option("--screenshots", line.window.screenshot_dir, "Write pictures of the window into this folder and end")
        ->type_name("DIR");
    open->add_option("--sample", line.window.sample, "The sample to show when no file is given")->type_name("FILE");
    open->callback([&line] { line.open = true; });
}

void add_help_command(CLI::App& program, Line& line) {
    CLI::App* const help = program.add_subcommand("help", "Say how a command is used");
    help->add_option("COMMAND", line.help_on, "A command");
    help->callback([&line] { line.help = true; });
}

/// CLI11's words in the form of ours: one line that starts small.
std::string one_sentence(std::string text) {
    for (char& c : text) {
        if (c == '\n') c = ' ';
    }
    if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z')
        text[0] = static_cast<char>(text[0] - 'A' + 'a');
    return text;
}

/// The deepest command that was named, for its help.
const CLI::App& chosen(const CLI::App& program) {
    const auto commands = program.get_subcommands();
    return commands.empty() ? program : *commands.front();
}

/// App::help() would give the help of the command that was parsed.
std::string help_of(const CLI::App& app, const std::string& name) {
    return app.get_formatter()->make_help(&app, name, CLI::AppFormatMode::Normal);
}

int print_help(const CommandIo& io, CLI::App& program, const std::string& command) {
    if (command.empty()) {
        print(io, help_of(program, "faultline"));
        return finish_output(io);
    }
    const auto named = program.get_subcommands([&command](const CLI::App* candidate) { return candidate->get_name() == command; });
    if (named.empty())
        return report_failure(io, {ErrorCode::wrong_usage, fmt::format("there is no command named {}", command), "See: faultline help"});
    print(io, help_of(*named.front(), "faultline " + command));
    return finish_output(io);
}

/// CLI11 speaks by exceptions; they end here.
std::optional<int> parse(CLI::App& program, const CommandIo& io, int argc, const char* const* argv) {
    try {
        program.parse(argc, argv);
        return std::nullopt;
    } catch (const CLI::CallForHelp&) {
        const CLI::App& command = chosen(program);
        print(io, help_of(command, &command == &program ? "faultline" : "faultline " + command.get_name()));
        return finish_output(io);
    } catch (const CLI::CallForVersion& version) {
        print(io, fmt::format("{}\n", version.what()));
        return finish_output(io);
    } catch (const CLI::ParseError& error) {
        const CLI::App& command = chosen(program);
        const std::string see = &command == &program ? "faultline help" : "faultline help " + command.get_name();
        return report_failure(io, {ErrorCode::wrong_usage, one_sentence(error.what()), "See: " + see});
    }
}

}  // namespace

CommandLineOutcome run_command_line(int argc, const char* const* argv) {
    CommandIo io;
    io.err_is_terminal = isatty(STDERR_FILENO) == 1;
    io.out_is_terminal = isatty(STDOUT_FILENO) == 1;
    Line line;
    CLI::App program(kDescription, "faultline");
    program.footer(kFooter);
    program.set_version_flag("--version", "faultline " FAULTLINE_VERSION, "Print the version and end");
    program.set_help_flag("-h,--help", "Print this help and end");
    program.require_subcommand(0, 1);
    add_open_command(program, line);
    add_import_command(program, line.action);
    add_info_command(program, line.action);
    add_ledger_command(program, line.action);
    add_steps_command(program, line.action);
    add_requests_command(program, line.action);
    add_chain_command(program, line.action);
    add_logs_command(program, line.action);
    add_bubbles_command(program, line.action);
    add_candidates_command(program, line.action);
    add_diagnose_command(program, line.action);
    add_query_command(program, line.action);
    add_simulate_command(program, line.action);
    add_help_command(program, line);
    if (const std::optional<int> status = parse(program, io, argc, argv)) return {*status, std::nullopt};
    if (line.help) return {print_help(io, program, line.help_on), std::nullopt};
    if (!line.action) return {0, std::move(line.window)};
    const SignalStop signals;
    io.stop = signals.token();
    return {line.action(io), std::nullopt};
}

int report_no_window() {
    return report_failure(
        {}, {ErrorCode::unavailable, "this build has no window", "Use a command (see: faultline help), or build with -DFAULTLINE_GUI=ON"});
}

}  // namespace faultline
