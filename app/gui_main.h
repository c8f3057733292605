// The window as a program. Called by main() where no command was given.
#pragma once

#include <string>
#include <vector>

namespace faultline {

struct GuiOptions {
    std::vector<std::string> files;  ///< captures open, everything else is imported
    std::string screenshot_dir;      ///< pictures of the window are written here instead of showing it; may be empty
    std::string sample;              ///< opened where no files are given; may be empty
};

/// Returns the exit status.
int run_gui(int& argc, char** argv, const GuiOptions& options);

}  // namespace faultline
