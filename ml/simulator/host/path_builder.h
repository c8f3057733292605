// Builds one path of launch_paths.h. Private to this folder.
#pragma once

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "ml/simulator/host/launch_paths.h"

namespace faultline::simulator {

/// The classes and files of a model's code, by its name.
struct ModelCode {
    std::string_view prefix, file, base_file;  ///< Qwen3, qwen3 and qwen2: where the layers' common parts stand
};
[[nodiscard]] ModelCode model_code(std::string_view model);
[[nodiscard]] int layers_of(const Deployment& deployment);

class PathBuilder {
public:
    PathBuilder(LaunchPath& path, Names& names, const RecordingOptions& recording) : path_(path), names_(names), recording_(recording) {}

    void frame(std::string_view text) {
        if (recording_.python) path_.entries.push_back({names_.intern(text), EventKind::python});
    }
    void op(std::string_view text) {
        if (recording_.operators && !text.empty()) path_.entries.push_back({names_.intern(text), EventKind::op});
    }
    /// A module of torch: its frame and that of its call.
    void module(std::string_view name, int number) {
        frame(fmt::format("nn.Module: {}_{}", name, number));
        frame("torch/nn/modules/module.py(1779): _call_impl");
    }
    /// From here on nothing is shared with the launch before.
    void own() { path_.shared = path_.entries.size(); }
    void view(std::string_view chain);
    void question(std::string_view call) { path_.questions.push_back(names_.intern(call)); }

private:
    LaunchPath& path_;
    Names& names_;
    const RecordingOptions& recording_;
};

/// The engines' own, by role, piece and layer.
void vllm_path(PathBuilder& path, const Deployment& deployment, const Op& op, bool in_graph);
void sglang_path(PathBuilder& path, const Deployment& deployment, const Op& op);
void torch_path(PathBuilder& path, const Deployment& deployment, const Op& op);
/// Operators of torch that are the same for all: the elementwise pieces, copies, sampling. False where there is none.
bool torch_operators(PathBuilder& path, const Op& op);
/// A product: aten::linear with what it looks at.
void product_operators(PathBuilder& path);

}  // namespace faultline::simulator
