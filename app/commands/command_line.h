// The command line of the program: which command, which options, what exit status.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace faultline {

/// The window was asked for.
struct WindowRequest {
    std::vector<std::string> files;
    std::string screenshot_dir;  ///< pictures of the window are written here instead of showing it; may be empty
    std::string sample;          ///< the sample to show in them; may be empty
};

struct CommandLineOutcome {
    int status = 0;
    std::optional<WindowRequest> window;  ///< where it is set, nothing has been run yet
};

/// Parses and, unless the window is asked for, runs. Starts no GUI library.
[[nodiscard]] CommandLineOutcome run_command_line(int argc, const char* const* argv);

/// Says that this build has no window; returns the exit status.
int report_no_window();

}  // namespace faultline
