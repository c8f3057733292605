// What a step makes a device do: the counts, names and durations of ENGINES §4.
#include <QTest>

#include <algorithm>
#include <set>

#include "ml/simulator/device/device_model.h"

using namespace faultline;
using namespace faultline::simulator;

namespace {

StepPlan decode_of(int batch, int kv = 1000) {
    StepPlan plan;
    plan.step = 1;
    for (int i = 0; i < batch; ++i) {
        ScheduledRequest r;
        r.request = static_cast<RequestNumber>(i);
        r.tokens = 1;
        r.computed_before = kv;
        plan.requests.push_back(r);
    }
    count_tokens(plan);
    return plan;
}

StepPlan prefill_of(int tokens) {
    StepPlan plan = decode_of(1, 0);
    plan.requests.front().context = true;
    plan.requests.front().tokens = tokens;
    count_tokens(plan);
    return plan;
}

struct Scene {
    Deployment deployment;
    Names names;
    Noise noise{1};
    RankPlace place;

    explicit Scene(const char* model = "qwen3-8b", const char* gpu = "h100", int tp = 1, GraphMode graphs = GraphMode::none,
                   Engine engine = Engine::vllm_v1_online) {
        deployment.engine = engine;
        deployment.model = model;
        deployment.gpu = gpu;
        deployment.tp = tp;
        deployment.graphs = graphs;
        place.ranks = tp;
        place.group = tp > 1 ? 0 : kNoGroup;
    }
    StepKernels kernels(const StepPlan& plan) {
        const DeviceModel model(deployment, names, noise);
        return model.kernels(plan, place);
    }
};

int count(const std::vector<Op>& ops, Role role) {
    return static_cast<int>(std::count_if(ops.begin(), ops.end(), [&](const Op& op) { return op.role == role && op.piece == Piece::whole; }));
}

int pieces(const std::vector<Op>& ops, Piece piece) {
    return static_cast<int>(std::count_if(ops.begin(), ops.end(), [&](const Op& op) { return op.piece == piece; }));
}

int products(const std::vector<Op>& ops) {
    return count(ops, Role::qkv_gemm) + count(ops, Role::o_gemm) + count(ops, Role::gate_up_gemm) + count(ops, Role::down_gemm);
}

TimeNs time_of(const std::vector<Op>& ops, Role role) {
    const auto found = std::find_if(ops.begin(), ops.end(), [&](const Op& op) { return op.role == role; });
    return found == ops.end() ? 0 : found->device_cost;
}

int launches(const std::vector<Op>& ops, OpKind kind) {
    return static_cast<int>(std::count_if(ops.begin(), ops.end(), [&](const Op& op) { return op.kind == kind; }));
}

}  // namespace

class TestSimulatorDevice : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void four_products_a_layer_data();
    void four_products_a_layer();
    void reductions_are_two_a_layer_and_one();
    void a_layer_of_torch_code_is_as_in_a_trace();
    void pieces_stand_beside_the_kernels_of_engines();
    void durations_follow_the_table_data();
    void durations_follow_the_table();
    void a_decode_is_one_graph();
    void a_mixed_step_is_one_piece_more_than_layers();
    void above_the_largest_size_there_is_no_graph();
    void names_follow_the_rows();
    void large_reductions_go_through_nccl();
    void experts_replace_the_dense_half();
    void a_hybrid_has_a_scan_for_prompts_and_an_update_for_tokens();
    void sampling_follows_the_requests();
    void everything_has_a_name_and_a_role();
    void the_cache_fills_what_weights_leave();
    void other_builds_have_other_names();
};

void TestSimulatorDevice::four_products_a_layer_data() {
    QTest::addColumn<QString>("gpu");
    QTest::addColumn<int>("engine");
    QTest::addColumn<int>("graphs");
    for (const char* gpu : {"a40", "a100", "h100", "h200", "h20"}) {
        for (int e = 0; e < kEngineCount; ++e) {
            for (const GraphMode mode : {GraphMode::none, GraphMode::piecewise, GraphMode::full}) {
                const std::string name = std::string(gpu) + " " + std::string(engine_name(static_cast<Engine>(e))) + " " + std::string(graph_mode_name(mode));
                QTest::newRow(name.c_str()) << QString::fromLatin1(gpu) << e << static_cast<int>(mode);
            }
        }
    }
}

void TestSimulatorDevice::four_products_a_layer() {
    QFETCH(QString, gpu);
    QFETCH(int, engine);
    QFETCH(int, graphs);
    Scene scene("qwen3-8b", gpu.toLatin1().constData(), 1, static_cast<GraphMode>(graphs), static_cast<Engine>(engine));
    for (const StepPlan& plan : {decode_of(8), prefill_of(700)}) {
        const StepKernels k = scene.kernels(plan);
        QCOMPARE(count(k.logits, Role::lm_head), 1);
        const double a_layer = static_cast<double>(launches(k.forward, OpKind::launch) + launches(k.forward, OpKind::node)) / 36;
        // Hugging Face code has one for queries, keys and values each, and for gate and up.
        if (static_cast<Engine>(engine) == Engine::fsdp) {
            QCOMPARE(products(k.forward), 7 * 36);
            QVERIFY(a_layer >= 60 && a_layer <= 75);
            continue;
        }
        QCOMPARE(products(k.forward), 4 * 36);
        QVERIFY(a_layer >= 10 && a_layer <= 16.5);
    }
}

void TestSimulatorDevice::a_layer_of_torch_code_is_as_in_a_trace() {
    // A layer of Qwen1.5-0.5B by transformers: 42 kernels and 7 cleared workspaces, in this order.
    Scene scene("qwen1.5-0.5b", "h100", 1, GraphMode::none, Engine::fsdp);
    const StepKernels k = scene.kernels(prefill_of(700));
    std::vector<Op> layer;
    std::copy_if(k.forward.begin(), k.forward.end(), std::back_inserter(layer), [](const Op& op) { return op.layer == 5; });
    QCOMPARE(layer.size(), std::size_t{49});
    QCOMPARE(pieces(layer, Piece::clear_workspace), 7);
    QCOMPARE(pieces(layer, Piece::mean), 2);
    QCOMPARE(pieces(layer, Piece::negate), 2);
    QCOMPARE(pieces(layer, Piece::copy), 4);
    QCOMPARE(pieces(layer, Piece::join), 2);
    QCOMPARE(static_cast<int>(layer.front().piece), static_cast<int>(Piece::upcast));
    QCOMPARE(static_cast<int>(layer.back().piece), static_cast<int>(Piece::add));
    // A cache that grows is joined anew in each decode step.
    const StepKernels decode = scene.kernels(decode_of(4));
    QCOMPARE(pieces(decode.forward, Piece::join), 24 * 4 + 1);
}

void TestSimulatorDevice::pieces_stand_beside_the_kernels_of_engines() {
    // A shard of a 70B model: few tiles of a deep product are split; without norms of queries and keys torch.compile makes two kernels of the rotation.
    Scene llama("llama-3.3-70b", "h100", 4, GraphMode::piecewise, Engine::vllm_v1_offline);
    const StepKernels k = llama.kernels(decode_of(8));
    QCOMPARE(pieces(k.forward, Piece::split_k), 80);
    QCOMPARE(pieces(k.forward, Piece::second_half), 80);
    QCOMPARE(pieces(k.forward, Piece::fill_long), 160);
    Scene sglang("qwen3-8b", "h100", 1, GraphMode::none, Engine::sglang);
    QCOMPARE(pieces(sglang.kernels(prefill_of(700)).forward, Piece::copy), 72);
    QCOMPARE(pieces(sglang.kernels(prefill_of(700)).inputs, Piece::positions), 1);
    QCOMPARE(pieces(sglang.kernels(decode_of(8)).inputs, Piece::positions), 0);
    Scene gpt("gpt-oss-20b", "h100");
    const StepKernels routed = gpt.kernels(decode_of(8));
    QCOMPARE(pieces(routed.forward, Piece::route_compute), 24);
    QCOMPARE(count(routed.forward, Role::activation), 0);  // within the first of the two products
}

void TestSimulatorDevice::reductions_are_two_a_layer_and_one() {
    for (const int tp : {1, 2, 4, 8}) {
        Scene scene("qwen3-8b", "h100", tp);
        const StepKernels k = scene.kernels(decode_of(8));
        QCOMPARE(count(k.forward, Role::all_reduce), tp == 1 ? 0 : 73);
        QCOMPARE(count(k.logits, Role::logits_gather), tp == 1 ? 0 : 1);
    }
}

void TestSimulatorDevice::durations_follow_the_table_data() {
    QTest::addColumn<int>("qkv");
    QTest::addColumn<int>("down");
    QTest::addColumn<int>("head");
    QTest::newRow("a40") << 85 << 170 << 2104;  // ENGINES §4.3, us
    QTest::newRow("a100") << 29 << 58 << 718;
    QTest::newRow("h100") << 18 << 35 << 437;
    QTest::newRow("h200") << 12 << 25 << 305;
    QTest::newRow("h20") << 15 << 30 << 366;
}

void TestSimulatorDevice::durations_follow_the_table() {
    QFETCH(int, qkv);
    QFETCH(int, down);
    QFETCH(int, head);
    Scene scene("qwen3-8b", QTest::currentDataTag());
    const StepKernels k = scene.kernels(decode_of(4));
    const auto near = [](TimeNs is, int us) { return std::abs(static_cast<double>(is) / 1000.0 - us) < 0.12 * us; };
    QVERIFY(near(time_of(k.forward, Role::qkv_gemm), qkv));
    QVERIFY(near(time_of(k.forward, Role::down_gemm), down));
    QVERIFY(near(time_of(k.logits, Role::lm_head), head));
}

void TestSimulatorDevice::a_decode_is_one_graph() {
    Scene scene("qwen3-8b", "h100", 1, GraphMode::full);
    const StepKernels k = scene.kernels(decode_of(13));
    QVERIFY(k.graphs == GraphMode::full);
    QCOMPARE(k.padded_batch, 16);
    QCOMPARE(launches(k.forward, OpKind::graph_launch), 1);
    QCOMPARE(launches(k.forward, OpKind::launch), 1);  // what plans the attention
    QVERIFY(launches(k.forward, OpKind::node) > 400);
}

void TestSimulatorDevice::a_mixed_step_is_one_piece_more_than_layers() {
    Scene scene("qwen3-8b", "h100", 1, GraphMode::full);
    const StepKernels k = scene.kernels(prefill_of(300));
    QVERIFY(k.graphs == GraphMode::piecewise);
    QCOMPARE(launches(k.forward, OpKind::graph_launch), 37);
    QVERIFY(launches(k.forward, OpKind::launch) >= 36);
}

void TestSimulatorDevice::above_the_largest_size_there_is_no_graph() {
    Scene scene("qwen3-8b", "h100", 1, GraphMode::full);
    scene.deployment.max_capture_size = 16;
    const StepKernels k = scene.kernels(decode_of(17));
    QVERIFY(k.graphs == GraphMode::none);
    QVERIFY(launches(k.forward, OpKind::launch) > 400 && launches(k.forward, OpKind::launch) < 1100);
}

void TestSimulatorDevice::names_follow_the_rows() {
    Scene scene;
    const auto name = [&](int rows) {
        const StepKernels k = scene.kernels(decode_of(rows));
        return std::string(scene.names.text(std::find_if(k.forward.begin(), k.forward.end(), [](const Op& op) { return op.role == Role::qkv_gemm; })->device_name));
    };
    QVERIFY(name(1).find("gemv") != std::string::npos);
    QCOMPARE(name(8), name(9));
    QVERIFY(name(8) != name(1));
    QVERIFY(name(200) != name(8));
}

void TestSimulatorDevice::large_reductions_go_through_nccl() {
    const auto name = [](const char* gpu, int tp, int nodes, int tokens) {
        Scene scene("qwen3-8b", gpu, tp);
        scene.deployment.nodes = nodes;
        const StepKernels k = scene.kernels(prefill_of(tokens));
        return std::string(scene.names.text(std::find_if(k.forward.begin(), k.forward.end(), [](const Op& op) { return op.role == Role::all_reduce; })->device_name));
    };
    QVERIFY(name("h100", 4, 1, 16).find("cross_device_reduce_1stage") != std::string::npos);
    QVERIFY(name("h100", 4, 1, 500).find("cross_device_reduce_2stage") != std::string::npos);
    QVERIFY(name("h100", 4, 1, 2000).starts_with("ncclDevKernel_AllReduce"));  // 16 MB
    QVERIFY(name("h100", 4, 2, 16).starts_with("ncclDevKernel_AllReduce"));    // between nodes
    QVERIFY(name("a40", 4, 1, 16).starts_with("ncclDevKernel_AllReduce"));     // more than two GPUs over PCIe
    QVERIFY(name("a40", 2, 1, 16).find("cross_device_reduce") != std::string::npos);
}

void TestSimulatorDevice::experts_replace_the_dense_half() {
    Scene scene("qwen3-30b-a3b", "h100");
    const StepKernels one = scene.kernels(decode_of(1)), many = scene.kernels(decode_of(64));
    QCOMPARE(count(one.forward, Role::moe_up), 48);
    QCOMPARE(count(one.forward, Role::gate_up_gemm), 0);
    QVERIFY(one.forward.size() > 700 && one.forward.size() < 1000);  // 810 of a vLLM decode step [S]
    QVERIFY(one.distinct_experts >= 8 && one.distinct_experts < 12);
    QVERIFY(many.distinct_experts > 90);
    QVERIFY(time_of(many.forward, Role::moe_up) > 3 * time_of(one.forward, Role::moe_up));
    // An A100 takes 109 us for one token, 917 us for 64 [S, ENGINES §4.2].
    Scene a100("qwen3-30b-a3b", "a100");
    const auto pair = [&](int batch) {
        const StepKernels k = a100.kernels(decode_of(batch));
        return static_cast<double>(time_of(k.forward, Role::moe_up) + time_of(k.forward, Role::moe_down)) / 1000;
    };
    QVERIFY(pair(1) > 95 && pair(1) < 125);
    QVERIFY(pair(64) > 780 && pair(64) < 1000);
}

void TestSimulatorDevice::a_hybrid_has_a_scan_for_prompts_and_an_update_for_tokens() {
    Scene scene("bamba-9b", "h100");
    const StepKernels decode = scene.kernels(decode_of(4)), prefill = scene.kernels(prefill_of(300));
    QCOMPARE(count(decode.forward, Role::mamba_scan), 0);
    QVERIFY(count(decode.forward, Role::mamba_update) > 20);
    QVERIFY(count(prefill.forward, Role::mamba_scan) > 20);
    QCOMPARE(count(prefill.forward, Role::mamba_update), 0);
    // One token of a new prompt down the decode path (TELLER §6).
    StepPlan misrouted = prefill_of(1);
    misrouted.requests.front().decode_route = true;
    const StepKernels wrong = scene.kernels(misrouted);
    QCOMPARE(count(wrong.forward, Role::mamba_scan), 0);
    QVERIFY(count(wrong.forward, Role::mamba_update) > 20);
}

void TestSimulatorDevice::sampling_follows_the_requests() {
    Scene scene;
    StepPlan plan = decode_of(4);
    QCOMPARE(count(scene.kernels(plan).sampling, Role::penalties), 0);
    plan.requests[1].penalties = true;
    plan.requests[2].guided = true;
    plan.requests[3].random = plan.requests[3].top_k = true;
    const StepKernels k = scene.kernels(plan);
    QVERIFY(count(k.sampling, Role::penalties) > 1);
    QCOMPARE(count(k.sampling, Role::grammar_mask), 2);
    QVERIFY(count(k.sampling, Role::sort) > 0);
    QCOMPARE(count(k.sampling, Role::argmax), 1);
}

void TestSimulatorDevice::everything_has_a_name_and_a_role() {
    for (const ModelCard& card : model_cards()) {
        for (int e = 0; e < kEngineCount; ++e) {
            Scene scene(std::string(card.name).c_str(), "h200", 2, GraphMode::full, static_cast<Engine>(e));
            for (const StepPlan& plan : {decode_of(5), prefill_of(900)}) {
                const StepKernels k = scene.kernels(plan);
                for (const auto* part : {&k.inputs, &k.forward, &k.logits, &k.sampling, &k.outputs}) {
                    for (const Op& op : *part) {
                        QVERIFY(op.role != Role::none);
                        if (op.kind == OpKind::launch || op.kind == OpKind::node) {
                            QVERIFY(op.device_name != Name::none);
                            QVERIFY(op.device_cost > 0);
                        }
                        if (op.kind != OpKind::node) QVERIFY(op.name != Name::none && op.cost > 0);
                    }
                }
            }
        }
    }
}

void TestSimulatorDevice::the_cache_fills_what_weights_leave() {
    Names names;
    const Scene a("qwen3-8b", "h100"), b("qwen3-8b", "h200");
    const DeviceModel small(a.deployment, names, Noise(1)), large(b.deployment, names, Noise(1));
    QVERIFY(small.kv_blocks() > 10'000 && small.kv_blocks() < 40'000);
    QVERIFY(2 * large.kv_blocks() > 3 * small.kv_blocks());
}

void TestSimulatorDevice::other_builds_have_other_names() {
    for (const char* gpu : {"a100", "h100"}) {
        Scene scene("qwen3-8b", gpu);
        const DeviceModel model(scene.deployment, scene.names, scene.noise);
        const StepKernels k = model.kernels(decode_of(8), scene.place);
        const auto op = std::find_if(k.forward.begin(), k.forward.end(), [](const Op& one) { return one.role == Role::attention; });
        const Name other = model.other_build(Role::attention, op->device_name);
        QVERIFY(other != op->device_name);
        QVERIFY(scene.names.text(other).find("flash") != std::string_view::npos);
    }
}

QTEST_APPLESS_MAIN(TestSimulatorDevice)
#include "tst_simulator_device.moc"
