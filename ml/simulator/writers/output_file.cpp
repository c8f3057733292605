#include "ml/simulator/writers/output_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>
#include <utility>

namespace faultline::simulator {

namespace {

Error cannot_write(const std::string& path, int error_number) {
    if (error_number == ENOSPC)
        return {ErrorCode::unwritable_output, fmt::format("the disk is full while writing {}", path),
                "Free some space or choose another folder"};
    return {ErrorCode::unwritable_output, fmt::format("cannot write {} ({})", path, std::strerror(error_number)),
            "Choose a folder that can be written"};
}

}  // namespace

struct OutputFile::Deflate {
    z_stream stream{};
    std::vector<char> out = std::vector<char>(kBuffer);

    Deflate() {
        constexpr int kGzipWindow = 15 + 16, kMemory = 8;
        deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY);
    }
    Deflate(const Deflate&) = delete;
    Deflate& operator=(const Deflate&) = delete;
    ~Deflate() { deflateEnd(&stream); }
};

OutputFile::OutputFile(std::string path, std::FILE* file, bool gzip)
    : path_(std::move(path)), file_(file), deflate_(gzip ? std::make_unique<Deflate>() : nullptr), buffer_(kBuffer) {}

OutputFile::~OutputFile() {
    if (file_ != nullptr) std::fclose(file_);
}

Result<std::unique_ptr<OutputFile>> OutputFile::open(const std::string& path, bool gzip) {
    std::FILE* const file = std::fopen(path.c_str(), "wbe");
    if (file == nullptr) return tl::unexpected<Error>(cannot_write(path, errno));
    std::setvbuf(file, nullptr, _IONBF, 0);  // the buffer is ours
    return std::unique_ptr<OutputFile>(new OutputFile(path, file, gzip));
}

void OutputFile::fail_with(int error_number) {
    if (failed_) return;
    failed_ = true;
    error_ = cannot_write(path_, error_number);
}

void OutputFile::put(const char* data, std::size_t size) {
    if (failed_ || size == 0) return;
    errno = 0;
    if (std::fwrite(data, 1, size, file_) != size) fail_with(errno == 0 ? EIO : errno);
}

void OutputFile::flush(bool last) {
    if (!deflate_) {
        put(buffer_.data(), used_);
        used_ = 0;
        return;
    }
    z_stream& stream = deflate_->stream;
    stream.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    stream.avail_in = static_cast<uInt>(used_);
    do {
        stream.next_out = reinterpret_cast<Bytef*>(deflate_->out.data());
        stream.avail_out = static_cast<uInt>(deflate_->out.size());
        deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
        put(deflate_->out.data(), deflate_->out.size() - stream.avail_out);
    } while (stream.avail_out == 0);
    used_ = 0;
}

void OutputFile::long_text(std::string_view text) {
    while (!text.empty()) {
        const std::size_t part = std::min(text.size(), kBuffer - used_);
        std::memcpy(buffer_.data() + used_, text.data(), part);
        used_ += part;
        text.remove_prefix(part);
        if (used_ == kBuffer) flush(false);
    }
}

Result<void> OutputFile::finish() {
    if (file_ != nullptr) {
        flush(true);
        std::FILE* const file = std::exchange(file_, nullptr);
        errno = 0;
        if (std::fclose(file) != 0) fail_with(errno == 0 ? EIO : errno);
    }
    if (failed_) return tl::unexpected<Error>(error_);
    return {};
}

void append_escaped(std::string& out, std::string_view text) {
    constexpr std::string_view kHex = "0123456789abcdef";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else if (byte < 0x20) {
            out += "\\u00";
            out += kHex[byte >> 4];
            out += kHex[byte & 15];
        } else {
            out += c;
        }
    }
}

std::string escaped(std::string_view text) {
    std::string out;
    append_escaped(out, text);
    return out;
}

}  // namespace faultline::simulator
