#include "tests/layers/layer_check.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <span>

#include <fmt/format.h>

namespace faultline::layers {
namespace {

/// The top-level folders with sources. Two folders inside them are layers of their own: `app/commands`, which works in a build
/// without the window, and `ml/net`, the only place of torch, included by nobody else.
constexpr std::array<std::string_view, 6> kFolders{"app", "core", "importers", "ml", "tests", "views"};
constexpr std::array<std::string_view, 2> kInnerLayers{"app/commands", "ml/net"};

struct LayerRule {
    std::string_view layer;
    std::vector<std::string_view> may_include;
};

const std::vector<LayerRule>& layer_rules() {
    static const std::vector<LayerRule> rules{
        {"core", {"core"}},
        {"importers", {"core", "importers"}},
        {"ml", {"core", "ml"}},
        {"ml/net", {"core", "ml", "ml/net"}},
        {"views", {"core", "views"}},
        {"app/commands", {"app/commands", "core", "importers", "ml"}},
        {"app", {"app", "app/commands", "core", "importers", "ml", "views"}},
        {"tests", {"app", "app/commands", "core", "importers", "ml", "ml/net", "tests", "views"}},
    };
    return rules;
}

struct LibraryRule {
    std::string_view library;
    std::vector<std::string_view> prefixes;  ///< what an include of it starts with
    std::vector<std::string_view> layers;    ///< besides tests; empty: every layer
};

/// Qt's own headers are matched by is_qt().
const LibraryRule& qt_rule() {
    static const LibraryRule rule{"Qt", {}, {"views", "app"}};
    return rule;
}

const std::vector<LibraryRule>& library_rules() {
    static const std::vector<LibraryRule> rules{
        {"torch", {"torch/", "ATen/", "c10/"}, {"ml/net"}},
        {"SQLite", {"sqlite3.h", "sqlite3ext.h"}, {"core", "importers"}},
        {"simdjson", {"simdjson"}, {"importers"}},
        {"zlib", {"zlib.h", "zconf.h"}, {"core", "importers", "ml"}},
        {"RE2", {"re2/"}, {"core", "importers"}},
        {"CLI11", {"CLI/"}, {"app", "app/commands"}},
        {"nlohmann-json", {"nlohmann/"}, {"app", "app/commands", "ml"}},
        {"date", {"date/"}, {"core", "importers", "ml", "views", "app", "app/commands"}},
        {"fmt", {"fmt/"}, {}},
        {"tl::expected", {"tl/"}, {}},
    };
    return rules;
}

bool contains(std::span<const std::string_view> list, std::string_view value) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

/// The layer of a path from the root, "" outside of the layers.
std::string_view layer_of(std::string_view path) {
    for (const auto inner : kInnerLayers) {
        if (path.starts_with(inner) && path.substr(inner.size()).starts_with('/')) {
            return inner;
        }
    }
    const auto slash = path.find('/');
    const auto folder = slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
    return contains(kFolders, folder) ? folder : std::string_view{};
}

/// <QString>, <QtWidgets/QLabel>, <QtGlobal>: Qt names start with Q and a capital letter or "Qt".
bool is_qt(std::string_view header) {
    return header.size() > 1 && header[0] == 'Q' && (header[1] == 't' || (header[1] >= 'A' && header[1] <= 'Z'));
}

/// Headers of C, C++, POSIX and Linux: <vector>, <unistd.h>, <sys/stat.h>.
bool is_system(std::string_view header) {
    constexpr std::array<std::string_view, 7> folders{"sys/", "linux/", "net/", "netinet/", "arpa/", "asm/", "experimental/"};
    if (header.find('/') == std::string_view::npos) {
        return !header.ends_with(".hpp");
    }
    return std::any_of(folders.begin(), folders.end(), [&](std::string_view folder) { return header.starts_with(folder); });
}

std::string why_library_forbidden(std::string_view layer, std::string_view header) {
    const auto check = [&](const LibraryRule& rule) -> std::string {
        if (rule.layers.empty() || layer == "tests" || contains(rule.layers, layer)) {
            return {};
        }
        return fmt::format("{} may be included only in {} (and tests).", rule.library, fmt::join(rule.layers, ", "));
    };
    if (is_qt(header)) {
        return check(qt_rule());
    }
    for (const auto& rule : library_rules()) {
        if (std::any_of(rule.prefixes.begin(), rule.prefixes.end(), [&](std::string_view p) { return header.starts_with(p); })) {
            return check(rule);
        }
    }
    return is_system(header) ? std::string{}
                             : "this library has no rule yet: add it to tests/layers/layer_check.cpp with the layers that may use it.";
}

std::string why_file_forbidden(std::string_view file, std::string_view layer, std::string_view header) {
    if (header.ends_with(".moc")) {
        // Only what AUTOMOC made of this very file.
        const auto stem = std::filesystem::path(file).stem().string() + ".moc";
        return header == stem && (layer == "views" || layer == "app" || layer == "tests")
                   ? std::string{}
                   : "a .moc file belongs to its own source, where Qt is allowed.";
    }
    // Tests may name a neighbour by its place beside them.
    if (layer == "tests" &&
        (std::filesystem::path(file).parent_path() / header).lexically_normal().generic_string().starts_with("tests/")) {
        return {};
    }
    const auto target = layer_of(header);
    if (target.empty() || header.find("..") != std::string_view::npos) {
        return "write it from the root of the repository, such as \"core/result.h\", or in angles if it is a library.";
    }
    for (const auto& rule : layer_rules()) {
        if (rule.layer == layer && !contains(rule.may_include, target)) {
            return fmt::format("{} may include only {}.", layer, fmt::join(rule.may_include, ", "));
        }
    }
    return {};
}

bool is_source(const std::filesystem::path& path) {
    constexpr std::array<std::string_view, 7> suffixes{".h", ".hpp", ".c", ".cc", ".cpp", ".cu", ".inl"};
    const auto suffix = path.extension().string();
    return contains(suffixes, suffix);
}

std::string text_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Length of the comment or raw string at the start of `rest`, 0 where there is none.
std::size_t blank_length(std::string_view rest) {
    if (rest.starts_with("//")) {
        return std::min(rest.find('\n'), rest.size());
    }
    if (rest.starts_with("/*")) {
        const auto end = rest.find("*/", 2);
        return end == std::string_view::npos ? rest.size() : end + 2;
    }
    if (rest.starts_with("R\"")) {
        const auto open = std::min(rest.find('('), rest.size());
        const auto delimiter = fmt::format("){}\"", rest.substr(2, open - 2));
        const auto end = rest.find(delimiter, open);
        return end == std::string_view::npos ? 0 : end + delimiter.size();
    }
    return 0;
}

/// Length of the string literal or quote character at the start of `rest`, 0 where there is none: a comment does not begin inside.
std::size_t literal_length(std::string_view rest) {
    if (rest.starts_with("'\"'") || rest.starts_with("'\\\"'")) {
        return rest.find('\'', 1) + 1;
    }
    if (!rest.starts_with('"')) {
        return 0;
    }
    for (std::size_t i = 1; i < rest.size() && rest[i] != '\n'; ++i) {
        if (rest[i] == '"') {
            return i + 1;
        }
        i += rest[i] == '\\' ? 1 : 0;
    }
    return 1;
}

/// The text with comments and raw strings made blank; line ends stay.
std::string without_comments(std::string_view source) {
    std::string out(source);
    for (std::size_t i = 0; i < source.size();) {
        const auto rest = source.substr(i);
        if (const auto blank = blank_length(rest); blank > 0) {
            const auto begin = out.begin() + static_cast<std::ptrdiff_t>(i);
            std::replace_if(
                begin, begin + static_cast<std::ptrdiff_t>(blank), [](char c) { return c != '\n'; }, ' ');
            i += blank;
        } else {
            i += std::max<std::size_t>(1, literal_length(rest));
        }
    }
    return out;
}

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

/// `"core/result.h"` of `#include "core/result.h"`, else "".
std::string_view include_of(std::string_view line) {
    line = trimmed(line);
    if (!line.starts_with('#')) {
        return {};
    }
    line = trimmed(line.substr(1));
    if (!line.starts_with("include")) {
        return {};
    }
    line = trimmed(line.substr(7));
    if (line.empty() || (line[0] != '"' && line[0] != '<')) {
        return {};
    }
    const auto end = line.find(line[0] == '"' ? '"' : '>', 1);
    return end == std::string_view::npos ? std::string_view{} : line.substr(0, end + 1);
}

}  // namespace

std::string why_forbidden(std::string_view file, std::string_view include) {
    const auto layer = layer_of(file);
    const auto header = include.size() > 2 ? include.substr(1, include.size() - 2) : std::string_view{};
    return include.starts_with('"') ? why_file_forbidden(file, layer, header) : why_library_forbidden(layer, header);
}

std::vector<Include> includes_of(std::string_view source) {
    std::vector<Include> found;
    const auto text = without_comments(source);
    std::size_t line = 1;
    for (std::size_t begin = 0; begin < text.size(); ++line) {
        const auto end = std::min(text.find('\n', begin), text.size());
        if (const auto include = include_of(std::string_view(text).substr(begin, end - begin)); !include.empty()) {
            found.push_back({line, std::string(include)});
        }
        begin = end + 1;
    }
    return found;
}

TreeCheck check_tree(const std::filesystem::path& root) {
    TreeCheck check;
    std::vector<std::filesystem::path> files;
    for (const std::string_view folder : kFolders) {
        std::error_code failed;
        for (std::filesystem::recursive_directory_iterator it(root / folder, failed), end; !failed && it != end; it.increment(failed)) {
            if (it->is_regular_file() && is_source(it->path())) {
                files.push_back(it->path());
            }
        }
    }
    std::sort(files.begin(), files.end());
    for (const auto& path : files) {
        const auto file = path.lexically_relative(root).generic_string();
        ++check.files;
        check.layers.emplace_back(layer_of(file));
        for (const auto& include : includes_of(text_of(path))) {
            if (auto reason = why_forbidden(file, include.text); !reason.empty()) {
                check.violations.push_back({file, include.line, include.text, std::move(reason)});
            }
        }
    }
    std::sort(check.layers.begin(), check.layers.end());
    check.layers.erase(std::unique(check.layers.begin(), check.layers.end()), check.layers.end());
    return check;
}

}  // namespace faultline::layers
