#include "importers/gzip_stream.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

namespace faultline {

struct GzipStream::Stream : z_stream {};

GzipStream::GzipStream() : stream_(std::make_unique<Stream>()) {
    *static_cast<z_stream*>(stream_.get()) = z_stream{};
    constexpr int kGzipWindow = 15 + 16;  // the largest window, gzip header and checksum expected
    if (inflateInit2(stream_.get(), kGzipWindow) != Z_OK) {
        state_ = State::damaged;
        why_ = "there is no memory to inflate it";
    }
}

GzipStream::~GzipStream() { inflateEnd(stream_.get()); }

void GzipStream::feed(std::span<const char> input) {
    stream_->next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(input.data()));
    stream_->avail_in = static_cast<uInt>(input.size());
    if (state_ == State::hungry) state_ = State::inflating;
}

void GzipStream::end_of_input() {
    input_ended_ = true;
    if (state_ != State::hungry) return;
    state_ = in_member_ ? State::truncated : State::ended;
}

/// Between two members: skips zero padding and looks for the next header. False where the data is over or must be waited for.
bool GzipStream::start_member() {
    while (stream_->avail_in > 0 && *stream_->next_in == 0) {
        ++stream_->next_in;
        --stream_->avail_in;
    }
    if (stream_->avail_in == 0) {
        state_ = input_ended_ ? State::ended : State::hungry;
        return false;
    }
    if (*stream_->next_in != 0x1f) {
        state_ = State::trailing;
        return false;
    }
    inflateReset(stream_.get());
    in_member_ = true;
    return true;
}

std::size_t GzipStream::inflate(char* to, std::size_t size) {
    if (state_ != State::inflating || (!in_member_ && !start_member())) return 0;
    stream_->next_out = reinterpret_cast<Bytef*>(to);
    stream_->avail_out = static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
    const int code = ::inflate(stream_.get(), Z_NO_FLUSH);
    const std::size_t written = static_cast<std::size_t>(reinterpret_cast<char*>(stream_->next_out) - to);
    if (code == Z_STREAM_END) {
        in_member_ = false;
        if (stream_->avail_in == 0) state_ = State::hungry;
    } else if (code == Z_OK || code == Z_BUF_ERROR) {
        if (stream_->avail_in == 0 && stream_->avail_out > 0) state_ = State::hungry;
    } else {
        state_ = State::damaged;
        why_ = stream_->msg != nullptr ? stream_->msg : "unknown reason";
    }
    return written;
}

}  // namespace faultline
