// From places that name requests to requests: spellings, steps, figures that are known, and figures that are not.
#include <QTest>

#include "core/request_projection.h"
#include "core/requests.h"

using namespace faultline;

namespace {

constexpr TimeNs kMs = 1'000'000, kSecond = 1'000 * kMs;
constexpr SourceId kTrace{1}, kLog{2};

RequestMention in_log(const char* id, RequestEvent event, std::optional<TimeNs> time, TimeNs resolution = 1) {
    static std::int64_t next = 0;
    RequestMention m;
    m.request = id;
    m.event = event;
    m.time = time;
    m.end = time.value_or(0);
    m.resolution_ns = resolution;
    m.source = kLog;
    m.log = ++next;
    return m;
}

RequestMention in_step(const char* id, std::int64_t step, TimeNs time) {
    RequestMention m;
    m.request = id;
    m.event = RequestEvent::in_step;
    m.time = time;
    m.end = time + kMs;
    m.source = kTrace;
    m.step = StepId{step};
    m.span = SpanId::make(TrackId{1}, static_cast<std::uint64_t>(step));
    return m;
}

Step step(std::int64_t id, StepPhase phase, TimeNs start, TimeNs end, const char* instance = "host/engine") {
    Step s;
    s.id = StepId{id};
    s.phase = phase;
    s.start = start;
    s.end = end;
    s.instance = instance;
    return s;
}

/// A prefill in two pieces, then decode and mixed steps.
std::vector<Step> steps() {
    return {step(1, StepPhase::prefill, 100 * kMs, 140 * kMs), step(2, StepPhase::prefill, 140 * kMs, 180 * kMs),
            step(3, StepPhase::decode, 180 * kMs, 190 * kMs), step(4, StepPhase::mixed, 190 * kMs, 220 * kMs, "other/engine"),
            step(5, StepPhase::decode, 220 * kMs, 230 * kMs)};
}

QString words(std::optional<TimeNs> t) { return t ? QString::number(*t) : QStringLiteral("null"); }

QString words(const Request& r) {
    return QStringLiteral("%1 arrival %2 first %3 end %4 ttft %5 tpot %6%7")
        .arg(QString::fromStdString(r.name), words(r.arrival), words(r.first_token), words(r.end), words(r.ttft_ns), words(r.tpot_ns),
             r.aborted ? QStringLiteral(" aborted") : QString());
}

Request only(const std::vector<RequestMention>& mentions, const std::vector<Step>& of, const std::vector<Source>& sources = {}) {
    const std::vector<Request> all = find_requests(mentions, of, sources);
    return all.size() == 1 ? all.front() : Request{};
}

std::vector<Source> sources(TimeNs uncertainty) {
    Source trace, log;
    trace.id = kTrace;
    log.id = kLog;
    log.clock_uncertainty_ns = uncertainty;
    return {trace, log};
}

ChainNode node(std::uint64_t ordinal, std::int64_t parent, LayerClass layer, SpanKind kind, TimeNs start) {
    ChainNode n;
    n.span = SpanId::make(TrackId{1}, ordinal);
    n.parent = parent;
    n.layer = layer;
    n.kind = kind;
    n.start = start;
    n.duration = 1;
    return n;
}

QString tree(const CallChain& chain) {
    QStringList list;
    for (const ChainNode& n : chain.nodes) list << QStringLiteral("%1<%2").arg(n.span.ordinal()).arg(n.parent);
    return list.join(' ');
}

}  // namespace

class TestRequests : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void steps_without_speculation_count_tokens() {
        std::vector<Step> served = {step(1, StepPhase::prefill, 100 * kMs, 140 * kMs), step(2, StepPhase::decode, 140 * kMs, 150 * kMs),
                                    step(3, StepPhase::decode, 150 * kMs, 160 * kMs)};
        for (Step& s : served) s.generation_requests = s.generation_tokens = s.phase == StepPhase::decode ? 1 : 0;
        const std::vector<RequestMention> mentions = {in_log("a", RequestEvent::arrival, 90 * kMs), in_step("a", 1, 100 * kMs),
                                                      in_step("a", 2, 140 * kMs), in_step("a", 3, 150 * kMs),
                                                      in_log("a", RequestEvent::finished, 160 * kMs)};
        const Request r = only(mentions, served);
        QCOMPARE(r.output_tokens.value_or(-1), std::int64_t{3});
        QCOMPARE(r.tpot_ns.value_or(-1), 10 * kMs);
        served.back().generation_tokens = 4;  // a step that verified guesses
        QCOMPARE(words(only(mentions, served).tpot_ns), QStringLiteral("null"));
    }

    void spellings_of_one_request() {
        std::vector<RequestMention> mentions;
        for (const char* id :
             {"chatcmpl-a63e", "chatcmpl-a63e-8587678b", "cmpl-ab5d", "cmpl-ab5d-0", "cmpl-ab5d-0-bc2e5ddc", "0_chatcmpl-a63e",
              "cmpl-ff00-0-bc2e5ddc", "cmpl-ff00-0", "3_chatcmpl-77", "8159_6b91", "17", "17-8587678b", "x-12345678", "7_17"})
            mentions.push_back(in_log(id, RequestEvent::mention, 0));
        const auto names = canonical_ids(mentions);
        QCOMPARE(names.at("chatcmpl-a63e-8587678b"), std::string("chatcmpl-a63e"));
        QCOMPARE(names.at("chatcmpl-a63e"), std::string("chatcmpl-a63e"));
        QCOMPARE(names.at("0_chatcmpl-a63e"), std::string("chatcmpl-a63e"));
        QCOMPARE(names.at("cmpl-ab5d-0-bc2e5ddc"), std::string("cmpl-ab5d"));
        QCOMPARE(names.at("cmpl-ab5d-0"), std::string("cmpl-ab5d"));
        QCOMPARE(names.at("cmpl-ff00-0-bc2e5ddc"), std::string("cmpl-ff00-0"));  // cmpl-ff00 stands nowhere
        QCOMPARE(names.at("cmpl-ff00-0"), std::string("cmpl-ff00-0"));
        QCOMPARE(names.at("3_chatcmpl-77"), std::string("chatcmpl-77"));  // a child of vLLM, whose own id stands nowhere
        QCOMPARE(names.at("8159_6b91"), std::string("8159_6b91"));
        QCOMPARE(names.at("17-8587678b"), std::string("17"));
        QCOMPARE(names.at("7_17"), std::string("17"));
        QCOMPARE(names.at("x-12345678"), std::string("x-12345678"));
        QVERIFY(canonical_ids({}).empty());
        std::string long_one = "x";
        for (int i = 0; i < 200; ++i) long_one = "1_" + long_one + "-1";
        QCOMPARE(canonical_ids(std::vector{in_log(long_one.c_str(), RequestEvent::mention, 0)}).at(long_one), long_one);
    }

    void a_request_knows_its_steps_and_instances() {
        const std::vector<RequestMention> mentions{in_step("a", 4, 190 * kMs),  in_step("a", 1, 100 * kMs),
                                                   in_step("b", 4, 190 * kMs),  in_step("a", 1, 110 * kMs),
                                                   in_step("a", 99, 300 * kMs), in_log("c", RequestEvent::mention, {})};
        const std::vector<Request> all = find_requests(mentions, steps());
        QCOMPARE(all.size(), std::size_t{3});
        QCOMPARE(all[0].name, std::string("a"));
        QCOMPARE(all[1].name, std::string("b"));
        QCOMPARE(all[2].name, std::string("c"));  // without a time: last
        for (std::size_t i = 0; i < all.size(); ++i) QCOMPARE(all[i].id, static_cast<std::int64_t>(i) + 1);
        QCOMPARE(all[0].steps, (std::vector<StepId>{StepId{1}, StepId{4}}));
        QCOMPARE(all[0].instances, (std::vector<std::string>{"host/engine", "other/engine"}));
        QCOMPARE(all[1].steps, (std::vector<StepId>{StepId{4}}));
        QVERIFY(all[2].steps.empty());
        QCOMPARE(words(all[2]), QStringLiteral("c arrival null first null end null ttft null tpot null"));
    }

    void figures_from_log_and_steps() {
        std::vector<RequestMention> mentions{in_log("a", RequestEvent::arrival, 50 * kMs), in_log("a", RequestEvent::arrival, 51 * kMs),
                                             in_step("a", 1, 100 * kMs), in_step("a", 2, 140 * kMs), in_step("a", 3, 180 * kMs)};
        QCOMPARE(words(only(mentions, steps())),
                 QStringLiteral("a arrival 50000000 first 180000000 end null ttft 130000000 tpot null"));  // its prompt came in two pieces
        mentions.push_back(in_log("a", RequestEvent::finished, 280 * kMs));
        QCOMPARE(words(only(mentions, steps())),
                 QStringLiteral("a arrival 50000000 first 180000000 end 280000000 ttft 130000000 tpot null"));
        mentions.back().output_tokens = 11;
        const Request r = only(mentions, steps());
        QCOMPARE(words(r), QStringLiteral("a arrival 50000000 first 180000000 end 280000000 ttft 130000000 tpot 10000000"));
        QVERIFY2(r.timing_rule.find("first token: end of step 2") != std::string::npos, r.timing_rule.c_str());
        QVERIFY2(r.timing_rule.starts_with("arrival: log line"), r.timing_rule.c_str());
    }

    void a_mixed_step_prefills_only_what_arrived_while_steps_were_recorded() {
        const std::vector<RequestMention> seen{in_log("b", RequestEvent::arrival, 185 * kMs), in_step("b", 4, 190 * kMs),
                                               in_step("b", 5, 220 * kMs)};
        QCOMPARE(words(only(seen, steps())), QStringLiteral("b arrival 185000000 first 220000000 end null ttft 35000000 tpot null"));
        const std::vector<RequestMention> before{in_log("b", RequestEvent::arrival, 50 * kMs), in_step("b", 4, 190 * kMs)};
        QCOMPARE(words(only(before, steps())), QStringLiteral("b arrival 50000000 first null end null ttft null tpot null"));
        const std::vector<RequestMention> unknown{in_step("b", 4, 190 * kMs)};
        QCOMPARE(words(only(unknown, steps())), QStringLiteral("b arrival null first null end null ttft null tpot null"));
        const std::vector<RequestMention> decoding{in_log("b", RequestEvent::arrival, 150 * kMs), in_step("b", 3, 180 * kMs)};
        QCOMPARE(words(only(decoding, steps())), QStringLiteral("b arrival 150000000 first null end null ttft null tpot null"));
    }

    void a_first_token_event_goes_before_steps() {
        const std::vector<RequestMention> mentions{in_log("a", RequestEvent::arrival, 50 * kMs), in_step("a", 1, 100 * kMs),
                                                   in_log("a", RequestEvent::first_token, 150 * kMs),
                                                   in_log("a", RequestEvent::first_token, 160 * kMs)};
        QCOMPARE(words(only(mentions, steps())), QStringLiteral("a arrival 50000000 first 150000000 end null ttft 100000000 tpot null"));
    }

    void stamps_of_a_second_resolve_no_ttft_of_80_ms() {
        std::vector<RequestMention> mentions{in_log("a", RequestEvent::arrival, 0, kSecond), in_step("a", 1, 100 * kMs),
                                             in_log("a", RequestEvent::finished, 30 * kSecond, kSecond)};
        mentions.back().output_tokens = 100;
        const Request r = only(mentions, {step(1, StepPhase::prefill, 0, 80 * kMs)});
        QCOMPARE(words(r), QStringLiteral("a arrival 0 first 80000000 end 30000000000 ttft null tpot 302222222"));
        QVERIFY2(r.timing_rule.find("TTFT: the clocks are too coarse") != std::string::npos, r.timing_rule.c_str());
        // 12 s are told from 0 by stamps of a second, to a tenth.
        const std::vector<RequestMention> far{in_log("a", RequestEvent::arrival, 0, kSecond), in_step("a", 1, 11 * kSecond)};
        QCOMPARE(words(only(far, {step(1, StepPhase::prefill, 11 * kSecond, 12 * kSecond)}).ttft_ns), QStringLiteral("12000000000"));
    }

    void clocks_of_two_sources_are_off() {
        const std::vector<RequestMention> mentions{in_log("a", RequestEvent::arrival, 0), in_step("a", 1, 100 * kMs)};
        QCOMPARE(words(only(mentions, {step(1, StepPhase::prefill, 0, 80 * kMs)}, sources(7 * kMs)).ttft_ns), QStringLiteral("80000000"));
        QCOMPARE(words(only(mentions, {step(1, StepPhase::prefill, 0, 80 * kMs)}, sources(9 * kMs)).ttft_ns), QStringLiteral("null"));
        // Two lines of one log share its clock.
        const std::vector<RequestMention> one{in_log("a", RequestEvent::arrival, 0), in_log("a", RequestEvent::first_token, 80 * kMs)};
        QCOMPARE(words(only(one, {}, sources(9 * kMs)).ttft_ns), QStringLiteral("80000000"));
        // A first token before the arrival is no TTFT.
        const std::vector<RequestMention> wrong{in_log("a", RequestEvent::arrival, 90 * kMs),
                                                in_log("a", RequestEvent::first_token, 80 * kMs)};
        QCOMPARE(words(only(wrong, {}).ttft_ns), QStringLiteral("null"));
    }

    void the_engines_own_figures_win() {
        std::vector<RequestMention> mentions{in_log("a", RequestEvent::arrival, 0, kSecond),
                                             in_log("a", RequestEvent::finished, kSecond, kSecond)};
        mentions[1].ttft_ns = 80 * kMs;
        mentions[1].latency_ns = 280 * kMs;
        mentions[1].prompt_tokens = 7;
        mentions[1].output_tokens = 21;
        const Request r = only(mentions, {});
        QCOMPARE(words(r), QStringLiteral("a arrival 0 first 80000000 end 1000000000 ttft 80000000 tpot 10000000"));
        QCOMPARE(r.prompt_tokens, std::optional<std::int64_t>(7));
        QCOMPARE(r.output_tokens, std::optional<std::int64_t>(21));
        mentions[1].output_tokens = 1;  // no token after the first
        QCOMPARE(words(only(mentions, {}).tpot_ns), QStringLiteral("null"));
        // Without a line of its own the end follows from the latency.
        std::vector<RequestMention> latency{in_log("a", RequestEvent::arrival, 5)};
        latency[0].latency_ns = 10;
        QCOMPARE(words(only(latency, {})), QStringLiteral("a arrival 5 first null end 15 ttft null tpot null"));
    }

    void given_up_only_where_nothing_says_that_it_finished() {
        std::vector<RequestMention> mentions{in_log("a", RequestEvent::arrival, 0), in_log("a", RequestEvent::aborted, 50),
                                             in_log("a", RequestEvent::aborted, 40)};
        QCOMPARE(words(only(mentions, {})), QStringLiteral("a arrival 0 first null end 50 ttft null tpot null aborted"));
        mentions.push_back(in_log("a", RequestEvent::finished, 45));
        QCOMPARE(words(only(mentions, {})), QStringLiteral("a arrival 0 first null end 45 ttft null tpot null"));
    }

    void mentions_of_spans_and_lines() {
        InternedNames names;
        InternedTexts texts;
        SourceBuilder source(kTrace, {1, 1, 1, 1}, names, texts);
        TrackBuffer& host = source.host_track(source.thread(source.process(1), 1));
        host.append(10, 100, source.name("execute_model step=1 decode tokens=2 batch=2 requests=a1,b2"), SpanKind::range);
        host.set(0, Column::step, 5);
        host.append(20, 10, source.name("aten::mm"), SpanKind::op);
        host.append(30, 10, source.name("request cmpl-0001"), SpanKind::range);
        host.append(40, 10, source.name("with arguments"), SpanKind::range);
        host.set(3, Column::args, index_of(source.text(R"({"request_ids": ["c3", "b2"], "n": 1})")));
        host.append(50, 10, source.name("request cmpl-0001"), SpanKind::kernel);  // no kind that is read
        (void)source.text(R"({"stream": 7})");
        QCOMPARE(source.watched_texts().size(), std::size_t{1});
        host.track.id = TrackId{3};
        LogLine line;
        line.id = 9;
        line.time = 77;
        line.resolution_ns = kSecond;
        line.text = "Added request cmpl-0001.";
        source.logs.push_back(line);
        line.id = 10;
        line.text = "Nothing to see";
        source.logs.push_back(line);
        find_mentions(source, RequestRules::built_in());

        QStringList found;
        for (const RequestMention& m : source.mentions)
            found << QStringLiteral("%1 event %2 at %3 to %4 step %5 span %6 log %7")
                         .arg(QString::fromStdString(m.request))
                         .arg(static_cast<int>(m.event))
                         .arg(*m.time)
                         .arg(m.end)
                         .arg(m.step ? index_of(*m.step) : -1)
                         .arg(m.span.valid() ? static_cast<qint64>(m.span.ordinal()) : -1)
                         .arg(m.log);
        QCOMPARE(found,
                 (QStringList{"a1 event 2 at 10 to 110 step 5 span 0 log 0", "b2 event 2 at 10 to 110 step 5 span 0 log 0",
                              "cmpl-0001 event 0 at 30 to 40 step -1 span 2 log 0", "c3 event 0 at 40 to 50 step -1 span 3 log 0",
                              "b2 event 0 at 40 to 50 step -1 span 3 log 0", "cmpl-0001 event 1 at 77 to 77 step -1 span -1 log 9"}));
        QCOMPARE(source.mentions.back().resolution_ns, kSecond);
        QCOMPARE(source.mentions.front().span.track(), TrackId{3});
    }

    void the_chain_of_one_request() {
        // 0 step of a and b; 1 shared operator; 2 call; 3 kernel; 4 prefill of b; 5 kernel in it; 6 operator of a collective; 7 its call;
        // 8 its kernel; 9 a collective whose launch is not known.
        CallChain chain;
        chain.step.id = StepId{4};
        chain.nodes = {node(0, -1, LayerClass::step, SpanKind::range, 0),       node(1, 0, LayerClass::backend, SpanKind::op, 1),
                       node(2, 1, LayerClass::host, SpanKind::runtime_call, 2), node(3, 2, LayerClass::kernel, SpanKind::kernel, 9),
                       node(4, 0, LayerClass::backend, SpanKind::range, 3),     node(5, 4, LayerClass::kernel, SpanKind::kernel, 10),
                       node(6, 0, LayerClass::comm, SpanKind::op, 5),           node(7, 6, LayerClass::host, SpanKind::runtime_call, 6),
                       node(8, 7, LayerClass::comm, SpanKind::kernel, 12),      node(9, -1, LayerClass::comm, SpanKind::kernel, 13)};
        std::vector<RequestMention> mentions{in_step("a", 4, 0), in_step("b", 4, 0), in_step("b-12345678", 4, 3)};
        mentions[0].span = mentions[1].span = SpanId::make(TrackId{1}, 0);
        mentions[2].span = SpanId::make(TrackId{1}, 4);
        const std::vector<Request> requests = find_requests(mentions, steps());
        QCOMPARE(requests.size(), std::size_t{2});
        const auto a = project_chain(chain, requests[0], mentions), b = project_chain(chain, requests[1], mentions);
        QVERIFY(a.has_value() && b.has_value());
        QCOMPARE(tree(*a), QStringLiteral("0<-1 1<0 2<1 3<2 6<0 7<4 8<4 9<0"));
        QCOMPARE(tree(*b), QStringLiteral("0<-1 1<0 2<1 3<2 4<0 5<4 6<0 7<6 8<6 9<0"));
        QCOMPARE(index_of(a->step.id), 4);
    }

    void a_request_that_is_not_there() {
        const std::vector<RequestMention> mentions{in_step("cmpl-1-0", 1, 5), in_step("cmpl-1-0-0123abcd", 2, 6),
                                                   in_log("c", RequestEvent::arrival, 0)};
        const std::vector<Request> requests = find_requests(mentions, steps());
        QCOMPARE(request_by_id("cmpl-1-0", requests, mentions).value(), std::size_t{1});
        QCOMPARE(request_by_id("cmpl-1-0-0123abcd", requests, mentions).value(), std::size_t{1});
        QCOMPARE(request_by_id("c", requests, mentions).value(), std::size_t{0});
        const auto none = request_by_id("d", requests, mentions);
        QVERIFY(!none);
        QCOMPARE(exit_status(none.error().code), 3);
        QCOMPARE(none.error().sentence, std::string("the capture has no request d"));
        CallChain chain;
        chain.step.id = StepId{5};
        const auto other = project_chain(chain, requests[1], mentions);
        QVERIFY(!other);
        QCOMPARE(exit_status(other.error().code), 3);
        QCOMPARE(other.error().hint, std::string("It takes part in steps 1, 2"));
        QCOMPARE(project_chain(chain, requests[0], mentions).error().hint,
                 std::string("Only log lines name it: no step says which requests it serves"));
    }
};

QTEST_APPLESS_MAIN(TestRequests)
#include "tst_requests.moc"
