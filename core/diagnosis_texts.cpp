#include "core/diagnosis_texts.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/difference_evidence.h"
#include "core/evidence_texts.h"

namespace faultline {

namespace {

constexpr std::size_t kSentencesExplained = 3;

std::string sum_words(const FaultSigns& signs, Sign sign) {
    TimeNs total = 0, expected = 0;
    for (const RankSigns& r : signs.ranks) {
        total += r.total[static_cast<std::size_t>(sign)];
        expected += r.expected[static_cast<std::size_t>(sign)];
    }
    return fmt::format("{} against {} in the reference steps", time_words(total), time_words(expected));
}

bool has_any(const FaultSigns& signs, Sign sign) {
    return std::any_of(signs.ranks.begin(), signs.ranks.end(), [sign](const RankSigns& r) {
        return r.total[static_cast<std::size_t>(sign)] > 0 || r.expected[static_cast<std::size_t>(sign)] > 0;
    });
}

/// A verdict's words as a sentence; a name at their beginning stays as it is written.
std::string sentence_of(std::string words) {
    const std::string first = words.substr(0, words.find(' '));
    const bool plain = std::all_of(first.begin(), first.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    if (plain && first != "void" && !first.empty()) words[0] = static_cast<char>(words[0] - 'a' + 'A');
    if (words.back() != '.') words += '.';
    return words;
}

constexpr std::string_view kNoGraph = "CUDA graph not used: launched kernel by kernel";

bool says_no_graph(const FaultReading& reading, const FaultSigns& signs) {
    return signs.graph_lost && reading.types.front().fault_type == FaultType::cuda_kernel;
}

std::string type_sentence(const FaultReading& reading, const ReadingInput& in) {
    const Diagnosis::Alternative& first = reading.types.front();
    std::string text = says_no_graph(reading, in.signs) ? fmt::format("{}. ", kNoGraph) : std::string();
    text += fmt::format("The numbers point to {}", fault_class_text(first.fault_type));
    if (reading.types.size() > 1) {
        const Diagnosis::Alternative& second = reading.types[1];
        if (second.confidence > 0.6 * first.confidence)
            text += fmt::format(", but hardly separate it from {}", fault_class_text(second.fault_type));
    }
    return text + fmt::format(". Why this class: {}.", class_reason(reading, in));
}

/// What a sign says where it is the main one of its class.
std::string_view sign_reason(Sign sign) {
    switch (sign) {
        case Sign::communication: return "the extra time lies in collectives, and no single rank is behind the others";
        case Sign::kernel_time: return "the device was busy and its kernels took longer than usual";
        case Sign::more_work: return "the step ran more kernels than its reference steps";
        case Sign::device_copy: return "the extra time lies in copies and fills on the device";
        case Sign::allocation: return "the extra time lies in calls that allocate or free memory";
        case Sign::module_load: return "the extra time lies in calls that load device code";
        case Sign::synchronization: return "the host waited for the device longer than the work of the device explains";
        case Sign::launching: return "the extra time lies in calls that launch, inside the driver";
        case Sign::copy_call: return "the extra time lies in calls that start copies, inside the driver";
        case Sign::other_call: return "the extra time lies in other calls of the CUDA runtime or driver";
        case Sign::host_code: return "the extra time lies in code of the host, outside all calls of the driver";
        case Sign::unseen: return "the host was late and nothing that was recorded says what it did";
        case Sign::late_start: return "one rank began the step later than the others";
    }
    return "the signs of the step belong to it";
}

std::vector<std::string> next_for_sign(Sign sign) {
    switch (sign) {
        case Sign::communication:
            return {
                "Compare the same collectives on every rank: if all are long, look at the links (NCCL_DEBUG=INFO, ibstat, nvidia-smi "
                "nvlink -e)",
                "Check which transport NCCL chose at the start of the log (NET/IB, NET/Socket, P2P, SHM)"};
        case Sign::kernel_time:
            return {"Look at the clocks and the other processes of that device at the time (nvidia-smi -q -d CLOCK,PERFORMANCE)",
                    "Compare the kernels' names and grids with a capture of the last good build"};
        case Sign::more_work: return {"Look at what the scheduler put into the step: recomputed, speculative or padded tokens"};
        case Sign::device_copy: return {"Look at the sizes of the copies and whether their host memory is pinned"};
        case Sign::allocation:
            return {"Look at the memory that was free at the time; reserve memory up front or raise the limit of the caching allocator",
                    "Capture with allocator events (profile_memory=True) to see which operator asked"};
        case Sign::module_load:
            return {"Warm up the shapes that load code, or set CUDA_MODULE_LOADING=EAGER, and see whether it comes again"};
        case Sign::synchronization:
            return {
                "Find the line that waits for the device (.item(), .tolist(), nonzero, a copy to pageable memory) with Python stacks in "
                "the capture"};
        case Sign::launching:
        case Sign::copy_call:
        case Sign::other_call:
            return {"Look for what holds the driver at that time: monitoring that polls, other processes, driver messages in dmesg"};
        case Sign::host_code:
            return {
                "Record stack samples of the process (py-spy record --gil --native) to see the line and who holds the interpreter lock"};
        case Sign::unseen:
        case Sign::late_start: break;
    }
    return {
        "Record stack samples and scheduler events of the late process: it may have been paused, starved of processor time or in garbage "
        "collection"};
}

}  // namespace

std::string_view fault_words(FaultType type) {
    switch (type) {
        case FaultType::memory_resource: return "memory or other resources";
        case FaultType::cuda_kernel: return "CUDA kernels";
        case FaultType::runtime_driver: return "the CUDA runtime, the driver or the host under them";
        case FaultType::communication_network: return "communication or the network";
        case FaultType::scheduling_software: return "scheduling or the engine's own code";
        case FaultType::normal: break;
    }
    return "no fault";
}

std::string fault_class_text(FaultType type) { return fmt::format("{} ({})", fault_words(type), fault_type_name(type)); }

std::string headline_of(const Diagnosis& d) {
    if (!d.judged) return "not judged: too few steps like it to say whether it is slow";
    const std::string sure = percent_words(d.confidence);
    return d.abnormal ? fmt::format("{}, confidence {}", fault_class_text(d.fault_type), sure) : fmt::format("normal, confidence {}", sure);
}

std::string class_reason(const FaultReading& reading, const ReadingInput& in) {
    const FaultType first = reading.types.front().fault_type;
    if (says_no_graph(reading, in.signs))
        return "how kernels reach the device changed, from one graph launch to single launches, while each kernel is as fast as ever";
    if (in.comparison.step.kind == StepKind::stall) return "that is what the spans and messages around the standstill speak for most";
    const bool of_frame = in.frame_cue == first && (reading.main == Sign::host_code || reading.main == Sign::unseen);
    if (of_frame && in.frame.find("_with_pad") != std::string_view::npos)
        return "the host allocates and fills a padded array before it launches";
    if (of_frame) return fmt::format("the host was in {}, which is known for it", first_line(in.frame, 80));
    if (reading.main) return std::string(sign_reason(*reading.main));
    if (std::any_of(in.logs.begin(), in.logs.end(), [first](const StepLog& l) { return l.cue == first; }))
        return "a message of the log names it";
    if ((in.comparison.verdict.reasons & reason_contradiction) != 0) return "text, calls and kernels of the step say different things";
    if (!in.signs.variants.empty()) return "kernels ran in another variant than in the reference steps";
    if (!in.signs.missing.empty() || !in.signs.added.empty()) return "the step ran other work than its reference steps";
    if ((in.comparison.verdict.reasons & reason_slo) != 0) return "a request waited too long while the step itself was as ever";
    return "the host was late and nothing that was recorded says what it did";
}

std::string explanation_of(const FaultReading& reading, const ReadingInput& in, const std::vector<Evidence>& evidence) {
    const StepComparison& c = in.comparison;
    std::string text = duration_evidence(c).sentence;
    if (!reading.abnormal) {
        if (!was_judged(c)) return text + fmt::format(" Not judged ({}): whether that is a fault is not known.", c.verdict.rule);
        return text + (c.references.empty() ? " Nothing marks it as out of line, but there is nothing to compare it with."
                                            : " Nothing in it is out of line enough to call it a fault.");
    }
    if (!is_judged(c) && c.step.kind == StepKind::step && !c.verdict.rule.empty())
        text += fmt::format(" The analysis could not judge it ({}); its reference steps do.", c.verdict.rule);
    if (!c.verdict.sentence.empty() && (c.verdict.reasons & reason_slow) == 0) text += " " + sentence_of(c.verdict.sentence);
    std::size_t told = 0;
    for (const Evidence& e : evidence) {
        if (told == kSentencesExplained) break;
        if (e.kind == EvidenceKind::roofline) continue;
        text += " " + e.sentence;
        ++told;
    }
    return text + " " + type_sentence(reading, in);
}

std::vector<std::string> ruled_out_by(const FaultReading& reading, const ReadingInput& in) {
    std::vector<std::string> out;
    const StepComparison& c = in.comparison;
    const FaultSigns& signs = in.signs;
    if (!reading.abnormal || c.alone) return out;
    const auto usual = [&](Sign sign) { return has_any(signs, sign) && signs.most(sign) < signs.least_ns; };
    const bool like = c.like_work();
    if (like && usual(Sign::communication))
        out.push_back(fmt::format("Communication: collectives took {}.", sum_words(signs, Sign::communication)));
    if (signs.straggler)
        out.push_back(
            fmt::format("The network: the collectives of rank {} were short, so the other ranks waited for it and not for a link.",
                        signs.ranks[*signs.straggler].rank.value_or(0)));
    if (like && usual(Sign::kernel_time) && signs.most(Sign::more_work) < signs.least_ns && signs.variants.empty() && signs.missing.empty())
        out.push_back(fmt::format("Slow kernels: each kernel is as fast as ever; device work outside collectives took {}.",
                                  sum_words(signs, Sign::kernel_time)));
    if (signs.missing.empty() && signs.added.empty() && signs.variants.empty() && !signs.ranks.empty())
        out.push_back("Other work: the same kernels ran as often as in the reference steps.");
    if (signs.most(Sign::allocation) < signs.least_ns)
        out.push_back("Allocation: no call that allocates or frees memory took longer than usual.");
    if (usual(Sign::host_code)) out.push_back(fmt::format("Host code: ranges and operators took {}.", sum_words(signs, Sign::host_code)));
    return out;
}

std::vector<std::string> next_steps(const FaultReading& reading, const ReadingInput& in) {
    if (!reading.abnormal) return {};
    std::vector<std::string> out;
    if (reading.main) out = next_for_sign(*reading.main);
    if (in.signs.graph_lost)
        out.insert(out.begin(), "Find out why the step ran without its CUDA graph: its batch against the captured sizes, enforce_eager");
    if (!in.signs.variants.empty())
        out.push_back("Compare build, attention backend and kernel configuration with those of the reference steps");
    if (in.comparison.step.kind == StepKind::stall)
        out.push_back("Take stacks of all processes while it hangs (py-spy dump), and read the log of every rank");
    if (out.empty())
        out.push_back("Open the step beside its nearest reference step and follow the chain from the first operator that differs");
    return out;
}

std::vector<std::string> missing_words(const StepComparison& c, const CaptureLacks& lacks) {
    std::vector<std::string> out{"No learned model was asked: this answer comes from rules on the numbers alone."};
    if (c.references.empty() && c.step.kind == StepKind::step)
        out.push_back("No reference step: the capture holds no other normal step of this instance and phase.");
    else if (c.references.size() < 5 && c.step.kind == StepKind::step)
        out.push_back(fmt::format("Reference steps: there {} only {}.", c.references.size() == 1 ? "is" : "are", c.references.size()));
    if (!was_judged(c) && c.step.kind == StepKind::step)
        out.push_back(fmt::format("Steps like it: {}, so how long it should have lasted is not known.",
                                  c.verdict.rule == "too few steps" ? "the capture holds too few of its phase and size" : c.verdict.rule));
    if (lacks.ranks_of_group)
        out.push_back(fmt::format("Peers: {} of {} ranks {} in the capture, so whether a collective waited for another rank is not known.",
                                  lacks.ranks, *lacks.ranks_of_group, lacks.ranks == 1 ? "is" : "are"));
    if (lacks.logs) out.push_back("Logs: the capture holds no service log (import it with --log).");
    if (lacks.stacks) out.push_back("Stack samples: none, so the line of code under a gap of the host is not known.");
    if (lacks.host_calls) out.push_back("Host calls: the capture holds device work alone, so why a device was idle is not known.");
    return out;
}

}  // namespace faultline
