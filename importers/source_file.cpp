#include "importers/source_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "importers/gzip_stream.h"

namespace faultline {

namespace {

constexpr std::size_t kQueueBlocks = 3;
constexpr std::size_t kRawBytes = 256 * 1024;  // of compressed input read at once

/// A file descriptor that is closed unless it is standard input.
class Descriptor {
public:
    explicit Descriptor(int fd) noexcept : fd_(fd) {}
    ~Descriptor() {
        if (fd_ > STDERR_FILENO) ::close(fd_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    [[nodiscard]] int get() const noexcept { return fd_; }

private:
    int fd_;
};

SourceFile::Block new_block() {
    SourceFile::Block block;
    // Not value-initialised: the pages are touched when they are filled.
    block.storage = std::make_unique_for_overwrite<char[]>(SourceFile::kHeadroom + SourceFile::kBlockBytes + SourceFile::kPadding);
    block.data = block.storage.get() + SourceFile::kHeadroom;
    return block;
}

}  // namespace

struct SourceFile::State {
    State(std::string given, int descriptor, int wake) : path(std::move(given)), fd(descriptor), stop_event(wake) {}

    std::string path;
    Descriptor fd;
    Descriptor stop_event;   ///< readable once the reading thread shall end
    bool may_block = false;  ///< a pipe or a terminal: wait with poll, so that stopping is noticed
    std::uint64_t total = 0;
    std::atomic<std::uint64_t> raw_read{0};
    std::atomic<bool> is_gzip{false};
    std::atomic<bool> stopping{false};

    mutable std::mutex mutex;
    std::condition_variable_any changed;
    std::deque<Block> full;
    std::vector<Block> spare;
    bool done = false;
    std::optional<Error> error;
    std::optional<SourceTrouble> trouble;

    std::uint64_t handed = 0;  ///< inflated bytes so far; of the reading thread
    std::jthread thread;       ///< last: it uses everything above

    void run();
    void read_plain(std::string_view first);
    void read_gzip(std::string_view first);
    std::optional<std::size_t> read_raw(char* to, std::size_t size);
    std::optional<Block> take_spare();
    void hand_over(Block&& block);
    void finish();
    void set_trouble(SourceTrouble::Kind kind, std::string sentence);
};

/// Reads at most `size` bytes; 0 at the end, nothing when stopped or failed (then `error` is set).
std::optional<std::size_t> SourceFile::State::read_raw(char* to, std::size_t size) {
    for (;;) {
        if (stopping) return std::nullopt;
        if (may_block) {
            pollfd waits[2] = {{fd.get(), POLLIN, 0}, {stop_event.get(), POLLIN, 0}};
            if (::poll(waits, 2, -1) < 0 && errno != EINTR) break;
            if (stopping) return std::nullopt;
            if (waits[0].revents == 0) continue;
        }
        const ssize_t n = ::read(fd.get(), to, size);
        if (n >= 0) {
            raw_read += static_cast<std::uint64_t>(n);
            return static_cast<std::size_t>(n);
        }
        if (errno != EINTR && errno != EAGAIN) break;
    }
    const std::lock_guard lock(mutex);
    error = Error{ErrorCode::unusable_input, fmt::format("{} cannot be read ({})", path, std::strerror(errno)),
                  "Check the disk or the connection it lies on"};
    return std::nullopt;
}

std::optional<SourceFile::Block> SourceFile::State::take_spare() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return stopping || full.size() < kQueueBlocks; });
    if (stopping) return std::nullopt;
    if (spare.empty()) {
        lock.unlock();
        return new_block();
    }
    Block block = std::move(spare.back());
    spare.pop_back();
    block.data = block.storage.get() + kHeadroom;
    block.size = 0;
    return block;
}

void SourceFile::State::hand_over(Block&& block) {
    block.offset = handed;
    handed += block.size;
    const std::lock_guard lock(mutex);
    full.push_back(std::move(block));
    changed.notify_all();
}

void SourceFile::State::finish() {
    const std::lock_guard lock(mutex);
    done = true;
    changed.notify_all();
}

void SourceFile::State::set_trouble(SourceTrouble::Kind kind, std::string sentence) {
    const std::lock_guard lock(mutex);
    trouble = SourceTrouble{kind, std::move(sentence), handed};
}

void SourceFile::State::read_plain(std::string_view first) {
    bool more = true;
    while (more) {
        std::optional<Block> block = take_spare();
        if (!block) return;
        if (!first.empty()) std::memcpy(block->data, first.data(), first.size());
        block->size = std::exchange(first, {}).size();
        while (block->size < kBlockBytes) {
            const std::optional<std::size_t> n = read_raw(block->data + block->size, kBlockBytes - block->size);
            if (!n) return;
            if (*n == 0) {
                more = false;
                break;
            }
            block->size += *n;
        }
        if (block->size > 0) hand_over(std::move(*block));
    }
}

void SourceFile::State::read_gzip(std::string_view first) {
    GzipStream stream;
    std::vector<char> raw(kRawBytes);
    std::memcpy(raw.data(), first.data(), first.size());
    stream.feed({raw.data(), first.size()});
    bool more = true;
    while (more) {
        std::optional<Block> block = take_spare();
        if (!block) return;
        while (more && block->size < kBlockBytes) {
            block->size += stream.inflate(block->data + block->size, kBlockBytes - block->size);
            if (stream.state() == GzipStream::State::hungry) {
                const std::optional<std::size_t> n = read_raw(raw.data(), raw.size());
                if (!n) return;
                if (*n == 0)
                    stream.end_of_input();
                else
                    stream.feed({raw.data(), *n});
            }
            more = stream.state() == GzipStream::State::hungry || stream.state() == GzipStream::State::inflating;
        }
        if (block->size > 0) hand_over(std::move(*block));
    }
    switch (stream.state()) {
        case GzipStream::State::truncated:
            set_trouble(SourceTrouble::Kind::truncated, "the gzip data ends early; what was inflated up to there was read");
            break;
        case GzipStream::State::damaged:
            set_trouble(
                SourceTrouble::Kind::damaged,
                fmt::format("the gzip data is damaged after {} inflated bytes ({}); what came before was read", handed, stream.why()));
            break;
        case GzipStream::State::trailing:
            set_trouble(SourceTrouble::Kind::trailing, "bytes that are no gzip data follow the gzip data; they were not read");
            break;
        default: break;
    }
}

void SourceFile::State::run() {
    char first[2];
    std::size_t have = 0;
    while (have < sizeof first) {
        const std::optional<std::size_t> n = read_raw(first + have, sizeof first - have);
        if (!n) return finish();
        if (*n == 0) break;
        have += *n;
    }
    is_gzip = have == 2 && first[0] == '\x1f' && first[1] == '\x8b';
    if (is_gzip)
        read_gzip({first, have});
    else
        read_plain({first, have});
    finish();
}

Result<std::unique_ptr<SourceFile>> SourceFile::open(const std::string& path) {
    const bool standard_input = path == "-";
    // Not blocking: opening a pipe that nobody writes to yet would wait where no signal and no Cancel is heard. Files do not care.
    const int fd = standard_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        const std::string hint = errno == ENOENT ? "Check the name" : "Check that it can be read";
        return fail(ErrorCode::unusable_input, fmt::format("{} cannot be opened ({})", path, std::strerror(errno)), hint);
    }
    auto state = std::make_unique<State>(path, fd, ::eventfd(0, EFD_CLOEXEC));
    struct stat info {};
    if (::fstat(fd, &info) != 0)
        return fail(ErrorCode::unusable_input, fmt::format("{} cannot be read ({})", path, std::strerror(errno)), "Check the name");
    if (S_ISDIR(info.st_mode))
        return fail(ErrorCode::unusable_input, fmt::format("{} is a folder", path), "Give the files in it, or import the folder");
    state->may_block = !S_ISREG(info.st_mode);
    if (S_ISREG(info.st_mode)) {
        state->total = static_cast<std::uint64_t>(info.st_size);
        ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    }
    State* const shared = state.get();
    auto file = std::unique_ptr<SourceFile>(new SourceFile(std::move(state)));
    shared->thread = std::jthread([shared] { shared->run(); });
    return file;
}

SourceFile::SourceFile(std::unique_ptr<State> state) : state_(std::move(state)) {}

SourceFile::~SourceFile() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->stopping = true;
        state_->changed.notify_all();
    }
    const std::uint64_t one = 1;
    // A failure leaves the thread in poll only where the event could not be made, which open() would not have survived either.
    [[maybe_unused]] const ssize_t written = ::write(state_->stop_event.get(), &one, sizeof one);
    if (state_->thread.joinable()) state_->thread.join();
}

const std::string& SourceFile::path() const noexcept { return state_->path; }

std::string_view SourceFile::name() const noexcept {
    const std::string_view whole = state_->path;
    const std::size_t slash = whole.rfind('/');
    return slash == std::string_view::npos ? whole : whole.substr(slash + 1);
}

std::uint64_t SourceFile::bytes_total() const noexcept { return state_->total; }
std::uint64_t SourceFile::bytes_read() const noexcept { return state_->raw_read; }
bool SourceFile::gzip() const noexcept { return state_->is_gzip; }

std::optional<SourceTrouble> SourceFile::trouble() const {
    const std::lock_guard lock(state_->mutex);
    return state_->trouble;
}

Result<std::string_view> SourceFile::head(std::stop_token stop) {
    std::unique_lock lock(state_->mutex);
    const bool ready = state_->changed.wait(lock, stop, [&] { return state_->done || !state_->full.empty(); });
    if (!ready) return fail(ErrorCode::cancelled, "the import was cancelled");
    if (!state_->full.empty()) return std::string_view(state_->full.front().data, state_->full.front().size);
    if (state_->error) return tl::unexpected<Error>(*state_->error);
    return std::string_view{};
}

Result<bool> SourceFile::next(Block& block, std::stop_token stop) {
    std::unique_lock lock(state_->mutex);
    if (block.storage) {
        state_->spare.push_back(std::exchange(block, Block{}));
        state_->changed.notify_all();
    }
    const bool ready = state_->changed.wait(lock, stop, [&] { return state_->done || !state_->full.empty(); });
    if (!ready || stop.stop_requested()) return fail(ErrorCode::cancelled, "the import was cancelled");
    if (state_->full.empty()) {
        if (state_->error) return tl::unexpected<Error>(*state_->error);
        return false;
    }
    block = std::move(state_->full.front());
    state_->full.pop_front();
    state_->changed.notify_all();
    return true;
}

}  // namespace faultline
