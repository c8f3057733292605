// Who may include whom (CONTRIBUTING.md, "Layers"), checked on the text of the sources.
//
// A quoted include names a file of this repository from its root, `#include "core/result.h"`: its first folder is its layer.
// An angled include names a library; each known library has the layers that may use it, and the standard library and the operating
// system are open to all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace faultline::layers {

struct Violation {
    std::string file;      ///< from the root
    std::size_t line = 0;  ///< from 1
    std::string include;   ///< with its quotes or angles
    std::string reason;    ///< a sentence
};

/// "" where `file` (from the root) may hold this include, else the reason why not. `include` carries its quotes or angles.
[[nodiscard]] std::string why_forbidden(std::string_view file, std::string_view include);

/// The includes of a source text in order, with their line; comments and string literals are passed over.
struct Include {
    std::size_t line = 0;
    std::string text;
};
[[nodiscard]] std::vector<Include> includes_of(std::string_view source);

struct TreeCheck {
    std::size_t files = 0;
    std::vector<std::string> layers;  ///< the layers that had a source file, sorted
    std::vector<Violation> violations;
};
/// Checks every C and C++ file below the layers' folders of `root`.
[[nodiscard]] TreeCheck check_tree(const std::filesystem::path& root);

}  // namespace faultline::layers
