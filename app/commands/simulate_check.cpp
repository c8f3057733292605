#include "app/commands/simulate_check.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "app/commands/analysed_capture.h"
#include "core/layer_rules.h"
#include "core/request_rules.h"
#include "core/step_grammar.h"
#include "importers/import_capture.h"
#include "ml/simulator/check/comparable.h"

namespace faultline {

namespace {

namespace fs = std::filesystem;

/// Removed with all that is in it.
class TemporaryFolder {
public:
    static Result<TemporaryFolder> make() {
        std::error_code error;
        const fs::path base = fs::temp_directory_path(error);
        std::string path = (base / "faultline-check-XXXXXX").string();
        if (error || ::mkdtemp(path.data()) == nullptr) {
            return fail(ErrorCode::unwritable_output, fmt::format("no folder for temporary files can be made in {}", base.string()),
                        "Set TMPDIR to one with room in it");
        }
        return TemporaryFolder(std::move(path));
    }
    TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    TemporaryFolder& operator=(TemporaryFolder&&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        if (!path_.empty()) fs::remove_all(path_, ignored);
    }
    [[nodiscard]] std::string file(std::string_view name) const { return (fs::path(path_) / name).string(); }

private:
    explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
    std::string path_;
};

Result<std::unique_ptr<CaptureReader>> imported(const std::string& input, const std::string& capture, const Progress& progress) {
    const StepGrammar grammar = StepGrammar::built_in();
    const LayerRules layers = LayerRules::built_in();
    ImportRequest request;
    request.inputs = {input};
    request.capture = capture;
    if (const auto done = import_capture(request, {grammar, layers, RequestRules::built_in()}, progress); !done)
        return tl::unexpected<Error>(done.error());
    return open_capture(capture);
}

}  // namespace

Result<CheckAnswer> check_capture(const std::string& path, const SimulateOptions& options, const Progress& progress) {
    auto folder = TemporaryFolder::make();
    if (!folder) return tl::unexpected<Error>(folder.error());
    auto real = fs::path(path).extension() == ".faultline" ? open_capture(path) : imported(path, folder->file("real.faultline"), progress);
    if (!real) return tl::unexpected<Error>(real.error());
    auto like = simulator::comparable_run(**real, simulator::model_cards(), simulator::gpu_cards());
    if (!like) return tl::unexpected<Error>(like.error());
    if (auto done = set_over(options, like->options); !done) return tl::unexpected<Error>(done.error());
    simulator::SimulationJob job;
    job.options = like->options;
    job.folder = folder->file("run");
    job.format = format_of(options).value_or(like->format);
    job.gzip = false;
    const auto made = simulator::simulate(job, progress);
    if (!made) return tl::unexpected<Error>(made.error());
    const auto simulated = imported(job.folder, folder->file("simulated.faultline"), progress);
    if (!simulated) return tl::unexpected<Error>(simulated.error());
    auto table = simulator::check_likeness(**real, **simulated);
    if (!table) return tl::unexpected<Error>(table.error());
    return CheckAnswer{path, made->options, std::move(like->reasons), std::move(*table)};
}

}  // namespace faultline
