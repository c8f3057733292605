// What to import: files as given, the files of folders in order, and standard input. Reads folders, no files.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"

namespace faultline {

struct InputFile {
    std::string path;          ///< "-" for standard input
    bool from_folder = false;  ///< found in a folder: other files may lie there too
    bool is_log = false;       ///< a service log, whatever it looks like
};

/// Expands folders (sorted by path, subfolders too; hidden files, captures, truth.json and manifest.json are never read). Fails where
/// nothing is left, or a folder cannot be read.
[[nodiscard]] Result<std::vector<InputFile>> list_inputs(const std::vector<std::string>& inputs, const std::vector<std::string>& logs = {});

}  // namespace faultline
