#include "ml/simulator/logs/log_writer.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "ml/simulator/logs/log_layout.h"

namespace faultline::simulator {
namespace {

constexpr std::size_t kBuffer = 64 * 1024;

std::string_view service_name(Engine engine) {
    switch (engine) {
        case Engine::vllm_v0:
        case Engine::vllm_v1_offline:
        case Engine::vllm_v1_online: return "vllm";
        case Engine::sglang: return "sglang";
        case Engine::fsdp: return "torchrun";
    }
    return "service";
}

/// Opened with the first line, so that a log without lines is no file.
class TextFile {
public:
    TextFile(const std::string& folder, std::string name) : path_(folder + "/" + name), name_(std::move(name)) {}
    TextFile(TextFile&& other) noexcept
        : path_(std::move(other.path_)),
          name_(std::move(other.name_)),
          text_(std::move(other.text_)),
          file_(std::exchange(other.file_, nullptr)),
          error_(other.error_) {}
    TextFile(const TextFile&) = delete;
    TextFile& operator=(const TextFile&) = delete;
    TextFile& operator=(TextFile&&) = delete;
    ~TextFile() {
        if (file_ != nullptr) (void)std::fclose(file_);
    }

    [[nodiscard]] std::string& text() { return text_; }
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] bool used() const { return file_ != nullptr || !text_.empty() || error_ != 0; }
    void flush_if_full() {
        if (text_.size() >= kBuffer) flush();
    }
    [[nodiscard]] Result<void> close() {
        flush();
        if (file_ != nullptr && std::fclose(std::exchange(file_, nullptr)) != 0 && error_ == 0) error_ = errno;
        if (error_ == 0) return {};
        return fail(ErrorCode::unwritable_output,
                    fmt::format("{} could not be written: {}", path_, std::generic_category().message(error_)));
    }

private:
    void flush() {
        if (error_ == 0 && file_ == nullptr && !text_.empty()) {
            file_ = std::fopen(path_.c_str(), "wb");
            if (file_ == nullptr) error_ = errno;
        }
        if (error_ == 0 && !text_.empty() && std::fwrite(text_.data(), 1, text_.size(), file_) != text_.size()) error_ = errno;
        text_.clear();
    }

    std::string path_, name_, text_;
    std::FILE* file_ = nullptr;
    int error_ = 0;
};

class FileLogWriter final : public LogWriter {
public:
    FileLogWriter(const std::string& folder, const RunOptions& options, const Topology& topology)
        : topology_(&topology), formatter_(options, topology) {
        const bool several = topology.nodes.size() > 1;
        const std::string_view service = service_name(options.deployment.engine);
        for (const NodeInfo& node : topology.nodes) {
            services_.emplace_back(folder, several ? fmt::format("{}-{}.log", service, node.host) : fmt::format("{}.log", service));
            kernels_.emplace_back(folder, several ? fmt::format("kernel-{}.log", node.host) : std::string("kernel.log"));
        }
    }

    void log(const LogEntry& entry) override {
        const auto node = static_cast<std::size_t>(topology_->process(entry.process).node);
        TextFile& file = entry.layout == LogLayout::kernel ? kernels_[node] : services_[node];
        formatter_.append(file.text(), entry);
        file.flush_if_full();
    }

    [[nodiscard]] Result<std::vector<std::string>> finish() override {
        std::vector<std::string> names;
        for (auto* files : {&services_, &kernels_})
            for (TextFile& file : *files) {
                if (!file.used()) continue;
                if (Result<void> closed = file.close(); !closed) return tl::unexpected(closed.error());
                names.push_back(file.name());
            }
        return names;
    }

private:
    const Topology* topology_;
    LogFormatter formatter_;
    std::vector<TextFile> services_, kernels_;  ///< by node
};

}  // namespace

Result<std::unique_ptr<LogWriter>> LogWriter::open(const std::string& folder, const RunOptions& options, const Topology& topology) {
    return std::make_unique<FileLogWriter>(folder, options, topology);
}

}  // namespace faultline::simulator
