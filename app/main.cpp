// The program: a command, or the window. Commands start no GUI library.
#include "app/commands/command_line.h"

#ifdef FAULTLINE_WITH_GUI
#include "app/gui_main.h"
#endif

int main(int argc, char** argv) {
    const faultline::CommandLineOutcome outcome = faultline::run_command_line(argc, argv);
    if (!outcome.window) return outcome.status;
#ifdef FAULTLINE_WITH_GUI
    return faultline::run_gui(argc, argv, {outcome.window->files, outcome.window->screenshot_dir, outcome.window->sample});
#else
    return faultline::report_no_window();
#endif
}
