#include "core/log_line.h"

namespace faultline {

std::string_view align_method_name(AlignMethod method) noexcept {
    switch (method) {
        case AlignMethod::request: return "request";
        case AlignMethod::time: return "time";
        case AlignMethod::none: break;
    }
    return "none";
}

}  // namespace faultline
