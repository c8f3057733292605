#include "views/timeline/span_names.h"

#include <string>

namespace faultline {

namespace {

QString text_of(std::string_view bytes) { return QString::fromUtf8(bytes.data(), static_cast<qsizetype>(bytes.size())); }

/// Without what stands in < > and ( ): template arguments and parameters. Operators such as "operator<" and "->" are left alone by
/// giving up where the brackets do not close.
std::string without_brackets(std::string_view full) {
    std::string kept;
    int depth = 0;
    for (std::size_t i = 0; i < full.size(); ++i) {
        const char c = full[i];
        if (c == '<' || c == '(') {
            // "(anonymous namespace)::" in front of a name is a bracket that is no parameter list.
            constexpr std::string_view kAnonymous = "(anonymous namespace)::";
            if (depth == 0 && full.substr(i).starts_with(kAnonymous)) {
                i += kAnonymous.size() - 1;
                continue;
            }
            ++depth;
        } else if (c == '>' || c == ')') {
            if (--depth < 0) return std::string(full);
        } else if (depth == 0) {
            kept += c;
        }
    }
    return depth == 0 ? kept : std::string(full);
}

QString kernel_name(std::string_view full) {
    std::string name = without_brackets(full);
    // The return type of a template kernel; a name holds no other blank once its brackets are gone.
    if (const auto blank = name.rfind(' '); blank != std::string::npos && blank + 1 < name.size()) name.erase(0, blank + 1);
    for (const std::string_view prefix : {"at::native::", "at::cuda::"}) {
        if (name.starts_with(prefix) && name.size() > prefix.size()) name.erase(0, prefix.size());
    }
    return name.empty() ? text_of(full) : text_of(name);
}

/// "vllm/v1/worker/gpu_model_runner.py(1040): execute_model" → "execute_model  gpu_model_runner.py:1040"
QString frame_name(std::string_view full) {
    const auto colon = full.rfind("): ");
    if (colon == std::string_view::npos) return text_of(full);
    const auto open = full.rfind('(', colon);
    if (open == std::string_view::npos || colon + 3 >= full.size()) return text_of(full);
    const std::string_view path = full.substr(0, open);
    const auto slash = path.find_last_of("/\\");
    const std::string_view file = slash == std::string_view::npos ? path : path.substr(slash + 1);
    return text_of(full.substr(colon + 3)) + QStringLiteral("  ") + text_of(file) + QLatin1Char(':') +
           text_of(full.substr(open + 1, colon - open - 1));
}

}  // namespace

QString short_name(SpanKind kind, std::string_view full) {
    if (kind == SpanKind::kernel && full.find_first_of("<(") != std::string_view::npos) return kernel_name(full);
    if (kind == SpanKind::python) return frame_name(full);
    return text_of(full);
}

const ShownName& SpanNames::shown(SpanKind kind, NameId name) {
    const std::size_t number = index_of(name);
    if (number < slots_.size() && slots_[number].shown != nullptr && slots_[number].kind == kind) return *slots_[number].shown;
    const auto key = static_cast<std::uint64_t>(kind) << 32 | index_of(name);
    const auto known = shown_.find(key);
    if (known != shown_.end()) return known->second;
    ShownName made;
    const std::string_view full = reader_ != nullptr ? reader_->name(name) : std::string_view();
    made.label = short_name(kind, full);
    // FNV-1a: the shade of a name must not change from one run to the next, as qHash does.
    std::uint32_t hash = 2166136261U;
    for (const QChar c : made.label) hash = (hash ^ c.unicode()) * 16777619U;
    made.shade = hash >> 13;
    made.collective = rules_.classify(kind, full) == LayerClass::comm;
    const ShownName& kept = shown_.emplace(key, std::move(made)).first->second;  // stays where it is when the table grows
    if (reader_ != nullptr && number < reader_->name_count()) {
        if (slots_.size() <= number) slots_.resize(reader_->name_count());
        if (slots_[number].shown == nullptr) slots_[number] = {kind, &kept};
    }
    return kept;
}

QString SpanNames::full(NameId name) const { return reader_ != nullptr ? text_of(reader_->name(name)) : QString(); }

}  // namespace faultline
