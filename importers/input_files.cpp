#include "importers/input_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace faultline {

namespace {

namespace fs = std::filesystem;

/// Truth and manifests belong to a simulated run and must not be known to what analyses it; captures are not imported into captures.
bool is_left_out(const fs::path& file) {
    const std::string name = file.filename().string();
    return name == "truth.json" || name == "manifest.json" || name.starts_with('.') || name.ends_with(".faultline") ||
           name.ends_with(".partial");
}

Result<std::vector<std::string>> files_in(const std::string& folder) {
    std::vector<std::string> files;
    std::error_code code;
    fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, code);
    for (const fs::recursive_directory_iterator end; !code && at != end; at.increment(code)) {
        std::error_code ignored;
        if (at->is_directory(ignored)) {
            if (at->path().filename().string().starts_with('.')) at.disable_recursion_pending();
        } else if (at->is_regular_file(ignored) && !is_left_out(at->path())) {
            files.push_back(at->path().string());
        }
    }
    if (code)
        return fail(ErrorCode::unusable_input, fmt::format("the folder {} cannot be read ({})", folder, code.message()),
                    "Check that it can be read");
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

Result<std::vector<InputFile>> list_inputs(const std::vector<std::string>& inputs, const std::vector<std::string>& logs) {
    std::vector<InputFile> all;
    for (const std::string& input : inputs) {
        std::error_code ignored;
        if (input == "-" || !fs::is_directory(input, ignored)) {
            all.push_back({input, false, false});
            continue;
        }
        Result<std::vector<std::string>> files = files_in(input);
        if (!files) return tl::unexpected<Error>(files.error());
        if (files->empty())
            return fail(ErrorCode::unusable_input, fmt::format("the folder {} holds no files to import", input),
                        "Give a folder with traces");
        for (std::string& file : *files) all.push_back({std::move(file), true, false});
    }
    for (const std::string& log : logs) all.push_back({log, false, true});
    if (all.empty()) return fail(ErrorCode::wrong_usage, "no input was given", "Name a trace file, a folder, or - for standard input");
    return all;
}

}  // namespace faultline
