#include "core/request_projection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "core/requests.h"

namespace faultline {

namespace {

constexpr std::size_t kNamed = 5;  ///< ids that an error names

bool is_semantic(const ChainNode& node) {
    return node.kind == SpanKind::range || node.kind == SpanKind::op || node.layer == LayerClass::step;
}

/// Copies a chain without what belongs to other requests.
class Projection {
public:
    Projection(const CallChain& chain, const Request& request, std::span<const RequestMention> mentions) : chain_(chain) {
        const std::unordered_map<std::string, std::string> names = canonical_ids(mentions);
        for (const RequestMention& m : mentions) {
            if (!m.span.valid()) continue;
            bool& ours = ours_.try_emplace(m.span.value, false).first->second;
            ours = ours || names.at(m.request) == request.name;
        }
    }

    CallChain build() {
        hang();
        std::vector<std::vector<std::size_t>> inside(chain_.nodes.size());
        std::vector<std::size_t> todo;
        for (std::size_t i = 0; i < chain_.nodes.size(); ++i)
            if (!out_[i] && parents_[i] >= 0) inside[static_cast<std::size_t>(parents_[i])].push_back(i);
        const auto later = [&](std::size_t a, std::size_t b) { return chain_.nodes[a].start > chain_.nodes[b].start; };
        for (std::size_t i = chain_.nodes.size(); i-- > 0;)
            if (!out_[i] && parents_[i] < 0) todo.push_back(i);
        std::stable_sort(todo.begin(), todo.end(), later);

        CallChain projected;
        projected.step = chain_.step;
        std::vector<std::int64_t> place(chain_.nodes.size(), -1);
        while (!todo.empty()) {
            const std::size_t at = todo.back();
            todo.pop_back();
            place[at] = static_cast<std::int64_t>(projected.nodes.size());
            ChainNode node = chain_.nodes[at];
            node.parent = parents_[at] < 0 ? -1 : place[static_cast<std::size_t>(parents_[at])];
            projected.nodes.push_back(node);
            std::vector<std::size_t>& children = inside[at];
            std::reverse(children.begin(), children.end());
            std::stable_sort(children.begin(), children.end(), later);
            todo.insert(todo.end(), children.begin(), children.end());
        }
        return projected;
    }

private:
    /// Decides what is left out, and on which node each node hangs. Parents stand before children.
    void hang() {
        const std::vector<ChainNode>& nodes = chain_.nodes;
        parents_.resize(nodes.size());
        out_.resize(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            parents_[i] = nodes[i].parent;
            const auto said = ours_.find(nodes[i].span.value);
            out_[i] = (said != ours_.end() && !said->second) || (nodes[i].parent >= 0 && out_[static_cast<std::size_t>(nodes[i].parent)]);
            if (nodes[i].parent < 0 && nodes[i].layer == LayerClass::step && !out_[i]) steps_.push_back(i);
            if (nodes[i].layer == LayerClass::comm && !is_semantic(nodes[i])) parents_[i] = semantic_parent(i);
        }
    }

    [[nodiscard]] std::int64_t semantic_parent(std::size_t of) const {
        std::int64_t at = chain_.nodes[of].parent;
        while (at >= 0 && !is_semantic(chain_.nodes[static_cast<std::size_t>(at)])) at = chain_.nodes[static_cast<std::size_t>(at)].parent;
        if (at >= 0 || chain_.nodes[of].parent >= 0) return at >= 0 ? at : chain_.nodes[of].parent;
        return step_around(of);
    }

    /// For work whose launch is not known: the last step range that starts before it and is not left out.
    [[nodiscard]] std::int64_t step_around(std::size_t of) const {
        const auto after = std::upper_bound(steps_.begin(), steps_.end(), chain_.nodes[of].start,
                                            [this](TimeNs t, std::size_t step) { return t < chain_.nodes[step].start; });
        return after == steps_.begin() ? -1 : static_cast<std::int64_t>(*std::prev(after));
    }

    const CallChain& chain_;
    std::unordered_map<std::int64_t, bool> ours_;  ///< spans that name requests: whether this one is among them
    std::vector<std::int64_t> parents_;
    std::vector<bool> out_;
    std::vector<std::size_t> steps_;  ///< roots that are step ranges, by start
};

}  // namespace

Result<std::size_t> request_by_id(std::string_view id, std::span<const Request> requests, std::span<const RequestMention> mentions) {
    const auto named = [&](std::string_view name) {
        return std::find_if(requests.begin(), requests.end(), [&](const Request& r) { return r.name == name; });
    };
    auto found = named(id);
    if (found == requests.end()) {
        const std::unordered_map<std::string, std::string> names = canonical_ids(mentions);
        if (const auto spelling = names.find(std::string(id)); spelling != names.end()) found = named(spelling->second);
    }
    if (found != requests.end()) return static_cast<std::size_t>(found - requests.begin());
    return fail(ErrorCode::unusable_input, fmt::format("the capture has no request {}", id),
                requests.empty() ? "No range and no log line in it names a request" : "`faultline requests CAPTURE` lists those it has");
}

Result<CallChain> project_chain(const CallChain& chain, const Request& request, std::span<const RequestMention> mentions) {
    if (std::find(request.steps.begin(), request.steps.end(), chain.step.id) == request.steps.end()) {
        std::vector<std::string> has;
        for (std::size_t i = 0; i < std::min(request.steps.size(), kNamed); ++i)
            has.push_back(fmt::format("{}", index_of(request.steps[i])));
        const std::string more = request.steps.size() > kNamed ? fmt::format(" and {} more", request.steps.size() - kNamed) : "";
        return fail(ErrorCode::unusable_input, fmt::format("request {} takes no part in step {}", request.name, index_of(chain.step.id)),
                    has.empty() ? "Only log lines name it: no step says which requests it serves"
                                : fmt::format("It takes part in {} {}{}", request.steps.size() == 1 ? "step" : "steps",
                                              fmt::join(has, ", "), more));
    }
    return Projection(chain, request, mentions).build();
}

}  // namespace faultline
