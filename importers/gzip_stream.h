// Inflating gzip data that comes in pieces, with several members (RFC 1952). One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace faultline {

class GzipStream {
public:
    enum class State {
        inflating,  ///< call inflate() again
        hungry,     ///< call feed() or end_of_input()
        ended,      ///< all members inflated
        truncated,  ///< the input ended inside a member
        damaged,    ///< why() says how
        trailing,   ///< all members inflated, other bytes follow
    };

    GzipStream();
    ~GzipStream();
    GzipStream(const GzipStream&) = delete;
    GzipStream& operator=(const GzipStream&) = delete;

    /// `input` must stay until the state is hungry again.
    void feed(std::span<const char> input);
    void end_of_input();
    /// Inflates into `to`; returns the bytes written, fewer than `size` where the state changed.
    std::size_t inflate(char* to, std::size_t size);
    [[nodiscard]] State state() const noexcept { return state_; }
    [[nodiscard]] const std::string& why() const noexcept { return why_; }

private:
    bool start_member();
    struct Stream;
    std::unique_ptr<Stream> stream_;
    State state_ = State::hungry;
    bool in_member_ = true;  ///< false between two members
    bool input_ended_ = false;
    std::string why_;
};

}  // namespace faultline
