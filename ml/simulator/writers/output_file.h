// A file that is written from front to back, plain or as one gzip member, through a buffer of fixed size. The first error stays: after it
// nothing more is written, and finish() tells it.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/types.h"

namespace faultline::simulator {

class OutputFile {
public:
    static Result<std::unique_ptr<OutputFile>> open(const std::string& path, bool gzip);
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;
    ~OutputFile();

    void text(std::string_view text) {
        if (text.size() > kBuffer - used_) {
            long_text(text);
            return;
        }
        std::memcpy(buffer_.data() + used_, text.data(), text.size());
        used_ += text.size();
    }
    void number(std::uint64_t value) {
        std::array<char, 20> digits;
        std::size_t at = digits.size();
        do {
            digits[--at] = static_cast<char>('0' + value % 10);
            value /= 10;
        } while (value != 0);
        text({digits.data() + at, digits.size() - at});
    }
    void number(std::int64_t value) {
        if (value < 0) text("-");
        number(value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value));
    }
    void number(std::uint32_t value) { number(std::uint64_t{value}); }
    void number(int value) { number(std::int64_t{value}); }
    /// Nanoseconds as microseconds with three decimals (FORMATS §2.2).
    void microseconds(TimeNs ns) {
        if (ns < 0) text("-");
        thousandths(ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns));
    }
    void thousandths(std::uint64_t value) {
        number(value / 1000);
        const auto rest = static_cast<unsigned>(value % 1000);
        const char digits[4] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                                static_cast<char>('0' + rest % 10)};
        text({digits, 4});
    }

    /// With six decimals, as "%f" prints.
    void millionths(std::uint64_t value) {
        number(value / 1'000'000);
        std::array<char, 7> digits{'.'};
        auto rest = static_cast<unsigned>(value % 1'000'000);
        for (std::size_t at = digits.size() - 1; at > 0; --at, rest /= 10) digits[at] = static_cast<char>('0' + rest % 10);
        text({digits.data(), digits.size()});
    }

    [[nodiscard]] bool failed() const { return failed_; }
    [[nodiscard]] Result<void> finish();

private:
    struct Deflate;
    OutputFile(std::string path, std::FILE* file, bool gzip);
    void long_text(std::string_view text);
    void flush(bool last);
    void put(const char* data, std::size_t size);
    void fail_with(int error_number);

    static constexpr std::size_t kBuffer = std::size_t{1} << 18;
    std::string path_;
    std::FILE* file_ = nullptr;
    std::unique_ptr<Deflate> deflate_;
    std::vector<char> buffer_;
    std::size_t used_ = 0;
    bool failed_ = false;
    Error error_;
};

/// `text` as it stands between the quotes of a JSON string.
void append_escaped(std::string& out, std::string_view text);
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace faultline::simulator
