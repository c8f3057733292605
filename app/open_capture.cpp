#include "app/open_capture.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "core/derive_capture.h"

namespace faultline {

namespace {

constexpr std::uint32_t bit(SpanKind kind) { return 1u << static_cast<unsigned>(kind); }

/// Kernels, and those without a launch, read from the chunks that hold kernels.
Result<void> count_kernels(const CaptureReader& reader, const Progress& progress, LoadedCapture& capture) {
    std::vector<std::int64_t> kinds, launches;
    for (const Track& track : reader.tracks()) {
        const auto& chunks = reader.chunks(track.id);
        for (std::size_t i = 0; i < chunks.size(); ++i) {
            if ((chunks[i].kind_mask & bit(SpanKind::kernel)) == 0) continue;
            if (progress.stopped()) return fail(ErrorCode::cancelled, "opening was cancelled");
            if (auto read = reader.read_chunk(track.id, i, Column::kind, kinds); !read) return read;
            if (auto read = reader.read_chunk(track.id, i, Column::launch, launches); !read) return read;
            for (std::size_t k = 0; k < kinds.size(); ++k) {
                if (kinds[k] != static_cast<std::int64_t>(SpanKind::kernel)) continue;
                ++capture.kernels;
                if (launches[k] == kNull) ++capture.unbound_kernels;
            }
        }
    }
    return {};
}

}  // namespace

Result<std::shared_ptr<const LoadedCapture>> load_capture(const std::string& path, const Progress& progress) {
    if (auto ok = ensure_analysed(path, progress); !ok) return tl::unexpected<Error>(ok.error());
    auto reader = CaptureReader::open(path);
    if (!reader) return tl::unexpected<Error>(reader.error());
    auto capture = std::make_shared<LoadedCapture>();
    capture->path = path;
    capture->reader = std::move(*reader);

    if (auto rows = load_rows(*capture->reader, *capture); !rows) return tl::unexpected<Error>(rows.error());
    if (auto counted = count_kernels(*capture->reader, progress, *capture); !counted) return tl::unexpected<Error>(counted.error());
    auto index = SpanIndex::build(*capture->reader, progress.stop);
    if (!index) return tl::unexpected<Error>(index.error());
    capture->index = std::move(*index);
    auto launches = LaunchIndex::build(*capture->reader, progress.stop);
    if (!launches) return tl::unexpected<Error>(launches.error());
    capture->launches = std::move(*launches);
    if (progress.stopped()) return fail(ErrorCode::cancelled, "opening was cancelled");
    return std::shared_ptr<const LoadedCapture>(std::move(capture));
}

bool is_capture_file(const std::string& path) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return false;
    std::string suffix = std::filesystem::path(path).extension().string();
    std::transform(suffix.begin(), suffix.end(), suffix.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (suffix == ".faultline") return true;
    // SQLite's head: 16 bytes of magic, the application id at offset 68 (https://sqlite.org/fileformat.html §1.3).
    std::array<char, 72> head{};
    std::ifstream file(path, std::ios::binary);
    file.read(head.data(), head.size());
    const std::string_view bytes(head.data(), static_cast<std::size_t>(file.gcount()));
    return bytes.size() == head.size() && bytes.starts_with("SQLite format 3") && bytes.substr(68, 4) == "FLTL";
}

}  // namespace faultline
