// How an operation that fails as a whole says so: a code, one sentence, one hint.
//
// No exception crosses a folder border. A record that is bad goes to the ImportLedger instead; our own mistakes are asserts.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace faultline {

/// What kind of failure it is; the numbers of exit statuses are those of the command line (see exit_status()).
enum class ErrorCode {
    wrong_usage,        ///< the call itself makes no sense
    unusable_input,     ///< the input cannot be used
    unwritable_output,  ///< the output cannot be written (disk full, read-only)
    cancelled,          ///< the user or a signal stopped it
    unavailable,        ///< a part is not available here
};

/// `sentence` says what is wrong, without a full stop; `hint` says what to do next (may be empty).
struct Error {
    ErrorCode code = ErrorCode::unusable_input;
    std::string sentence;
    std::string hint;
};

template <class T>
using Result = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string sentence, std::string hint = {}) {
    return tl::unexpected<Error>(Error{code, std::move(sentence), std::move(hint)});
}

/// Exit status of `faultline COMMAND` for a failure.
[[nodiscard]] constexpr int exit_status(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::wrong_usage: return 2;
        case ErrorCode::unusable_input: return 3;
        case ErrorCode::unwritable_output: return 4;
        case ErrorCode::cancelled: return 5;
        case ErrorCode::unavailable: return 6;
    }
    return 3;
}

}  // namespace faultline
