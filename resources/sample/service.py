"""What the service does in half a second: its schedule, and one step of its worker from the request queue to the token ids."""

from dataclasses import dataclass

import model
from machine import DEVICE, PROCESS, Machine
from service_log import Request, ServiceLog

MAIN_THREAD = 4211
WATCHDOG_THREAD = 4297
COMPUTE, COLLECTIVES = 7, 20
START_NS = 1_209_833_417_000_123  # after the base: 2026-01-15 00:03:53 UTC


@dataclass
class Step:
    """One iteration: prompts being read, requests being continued, and how the forward pass is launched."""

    context_requests: int
    context_tokens: int
    generation_requests: int
    mode: str = "graph"  # graph: one launch; pieces: a graph between two attentions; eager: kernel by kernel
    stall_ns: int = 0  # the host is busy with something else while inputs are prepared
    arrivals: int = 0  # requests whose prompt this step is the first to read
    leaves: int = 0  # requests that have their last token after this step

    @property
    def tokens(self):
        return self.context_tokens + self.generation_requests

    @property
    def requests(self):
        return self.context_requests + self.generation_requests

    @property
    def phase(self):
        return ("decode" if self.context_requests == 0 else "mixed") if self.generation_requests else "prefill"

    @property
    def text(self):
        return f"execute_context_{self.context_requests}({self.context_tokens})_generation_{self.generation_requests}({self.generation_requests})"


def schedule():
    """60 steps. Two of them are out of line: step 31 waits for the host, step 45 did not find its graph."""
    steps = [Step(4, 1_837, 0, "eager", arrivals=4)]
    steps += [Step(0, 0, 4)] * 11
    steps += [Step(2, 811, 4, "eager", arrivals=2)]
    steps += [Step(0, 0, 6)] * 9
    steps += [Step(1, 2_042, 6, "eager", arrivals=1), Step(1, 388, 6, "pieces")]  # one long prompt in two chunks
    steps += [Step(0, 0, 7)] * 6
    steps += [Step(0, 0, 7, stall_ns=41_300_000)]
    steps += [Step(0, 0, 7)] * 6
    steps += [Step(5, 486, 7, "pieces", arrivals=5)]
    steps += [Step(0, 0, 12)] * 6
    steps += [Step(0, 0, 12, "eager")]
    steps += [Step(0, 0, 12)] * 3
    steps += [Step(8, 492, 12, "pieces", arrivals=8)]
    steps += [Step(0, 0, 20)] * 9
    steps += [Step(0, 0, 20, leaves=1)]
    steps += [Step(0, 0, 19)]
    return steps


class Worker:
    """The process of rank 0: its main thread and its device; and the log of the server that feeds it."""

    PENALIZED = 7  # the request whose penalty makes the sampler keep lists of tokens

    def __init__(self, trace):
        self.trace = trace
        self.log = ServiceLog()
        self.requests = []  # all so far
        self.running = []
        self.host = Machine(trace, MAIN_THREAD, START_NS, seed=20_260_115)
        self.steps = 0
        self._context_tokens = 0
        self._allocated = 31_138_512_896

    def serve(self):
        host = self.host
        with host.frame("vllm/v1/executor/multiproc_executor.py(711): worker_busy_loop"):
            for number, step in enumerate(schedule(), 1):
                with host.frame("vllm/distributed/device_communicators/shm_broadcast.py(505): dequeue"):
                    host.spend(310_000, 0.5)
                self._admit(step)
                with host.frame("vllm/v1/worker/gpu_worker.py(588): execute_model"):
                    self._execute(step, number)
                with host.frame("vllm/v1/worker/gpu_worker.py(574): sample_tokens"):
                    self._sample(step)
                with host.frame("vllm/v1/executor/multiproc_executor.py(702): enqueue_output"):
                    host.spend(60_000, 0.3)
                self._context_tokens += step.tokens
                self.steps += 1
                self._answer(step)
        for request in self.requests:
            self.log.request(request)

    def _admit(self, step):
        """Requests came in while the step before ran; the scheduler takes them in now."""
        for i in range(step.arrivals):
            number = len(self.requests) + 1
            request = Request(number, step.context_tokens // step.arrivals, 1.15 if number == self.PENALIZED else 1.0)
            request.arrival_ns = self.host.now - 2_900_000 + 310_000 * i
            self.requests.append(request)
            self.running.append(request)

    def _answer(self, step):
        now = self.host.now
        for request in self.running:
            request.output_tokens += 1
            if request.first_token_ns is None:
                request.first_token_ns = now
        for request in self.running[: step.leaves]:
            request.end_ns = now
        self.running = [request for request in self.running if request.end_ns is None]
        if self.steps % 20 == 0:
            usage = 0.35 + self._context_tokens / 1_900
            self.log.throughput(now + 90_000, 0.0 if step.phase == "decode" else 410.3, 8.1 * len(self.running), len(self.running), 0, usage)

    def _execute(self, step, number):
        host = self.host
        host.device_marks.clear()
        who = ",".join(request.id for request in self.running)
        hook = f"worker.step step={number} {step.phase} tokens={step.tokens} batch={step.requests} requests={who}"
        with host.annotation(step.text), host.annotation(hook), host.frame("vllm/v1/worker/gpu_model_runner.py(3012): execute_model"):
            external = host.last_external()
            with host.annotation("gpu_model_runner: preprocess"):
                self._prepare(step)
            with host.annotation("gpu_model_runner: forward"):
                self._forward(step)
        start, end = host.device_marks[0][0], max(e for _, e in host.device_marks)
        host.device_range(step.text, COMPUTE, external, start, end)

    def _prepare(self, step):
        host = self.host
        with host.frame("vllm/v1/worker/gpu_model_runner.py(842): _update_states"):
            host.spend(38_000 + 2_500 * step.requests)
        with host.frame("vllm/v1/worker/gpu_model_runner.py(1297): _prepare_inputs"):
            host.spend(55_000 + 3_000 * step.requests)
            if step.stall_ns:
                # The list of tokens of every request is made into one padded array, on the thread that should launch.
                with host.frame("vllm/utils/torch_utils.py(170): make_ndarray_with_pad"):
                    host.spend(step.stall_ns, 0.01)
            for size in (8 * step.tokens, 4 * step.tokens, 4 * (step.requests + 1), 4 * step.requests, 4 * step.requests * 128):
                with host.op("aten::copy_", [[size // 4], [size // 4], []]):
                    host.copy(size, COMPUTE)
            with host.op("vllm::compute_slot_mapping", [[step.tokens]]):
                host.launch(model.Kernel("_compute_slot_mapping_kernel", 2_900, (step.requests + 1, 1, 1)), COMPUTE, "cuLaunchKernelEx")
            with host.op("aten::fill_", [[step.tokens], []]):
                host.launch(model.Kernel(
                    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, std::array<char*, 1ul>>"
                    "(int, at::native::FillFunctor<int>, std::array<char*, 1ul>)", 1_000, (1, 1, 1)), COMPUTE)
        if step.mode != "graph":
            self._allocate(2 * model.HIDDEN * step.tokens)
            self._allocate(2 * 12_288 * step.tokens)

    def _forward(self, step):
        host = self.host
        if step.mode == "graph":
            padded = next(size for size in (1, 2, 4, 8, 16, 24, 32) if size >= step.tokens)
            with host.op("vllm::graph_replay", [[padded, model.HIDDEN]]):
                host.launch_graph(model.whole_pass(padded, self._context_tokens), COMPUTE, graph=padded, host_ns=96_000)
            return
        if step.mode == "pieces":
            padded = (step.tokens + 7) // 8 * 8
            pending = model.embedding(padded)
            for layer in range(model.LAYERS):
                for _, part, _ in model.before_attention(padded, layer == 0):
                    pending += part
                host.launch_graph(pending, COMPUTE, graph=1_000 + layer, host_ns=17_000)
                self._attention(step)
                pending = [kernel for _, part, _ in model.after_attention(padded) for kernel in part]
            host.launch_graph(pending, COMPUTE, graph=1_000 + model.LAYERS, host_ns=17_000)
            return
        self._launch_all("aten::embedding", model.embedding(step.tokens), [[model.VOCABULARY // 2, model.HIDDEN], [step.tokens]])
        for layer in range(model.LAYERS):
            with host.frame("vllm/model_executor/models/qwen3.py(224): forward"):
                for name, kernels, dims in model.before_attention(step.tokens, layer == 0):
                    self._launch_all(name, kernels, dims)
                self._attention(step)
                for name, kernels, dims in model.after_attention(step.tokens):
                    self._launch_all(name, kernels, dims)

    def _attention(self, step):
        host = self.host
        context = self._context_tokens + step.context_tokens // 2
        kernels = model.attention(step.tokens, context)
        with host.op("vllm::unified_attention_with_output", [[step.tokens, 16, 128], [step.tokens, 4, 128], [step.tokens, 4, 128], []]):
            host.spend(24_000)
            with host.op("_C_cache_ops::reshape_and_cache_flash", [[step.tokens, 4, 128], [step.tokens, 4, 128], []]):
                host.launch(kernels[0], COMPUTE)
            with host.op("_vllm_fa3_C::fwd", [[step.tokens, 16, 128], [], []]):
                for kernel in kernels[1:]:
                    host.launch(kernel, COMPUTE, "cudaLaunchKernelExC")

    def _launch_all(self, name, kernels, dims):
        host = self.host
        host.spend(13_000)  # what Python and the dispatcher cost before every operator: a graph saves it
        if name == "aten::mm":
            with host.op("aten::linear", dims), host.op(name, dims):
                for kernel in kernels:
                    host.launch(kernel, COMPUTE, "cudaLaunchKernelExC")
            return
        with host.op(name, dims):
            for kernel in kernels:
                host.launch(kernel, COMPUTE)

    def _sample(self, step):
        host, rows = self.host, step.requests
        with host.annotation("gpu_model_runner: postprocess"):
            self._launch_all("aten::index_select", [model.Kernel(
                "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>"
                "(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>)", 3_100, (rows, 1, 1))], [[step.tokens, model.HIDDEN], [], [rows]])
            self._launch_all("aten::mm", [model.matmul(rows, model.HIDDEN, model.VOCABULARY // 2)], [[rows, model.HIDDEN], [model.HIDDEN, 75_968]])
            self._gather_logits(rows)
        with host.annotation("gpu_model_runner: sample"):
            logits = [[rows, model.VOCABULARY]]
            for name, kernel, ns in (
                ("aten::softmax", "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float>(float*, float const*, int)", 21_000),
                ("aten::exponential_", "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4>(int, at::PhiloxCudaState)", 12_000),
                ("aten::div_", "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float>>(int)", 8_000),
                ("aten::argmax", "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4>>()", 15_000),
            ):
                self._launch_all(name, [model.Kernel(kernel, ns + 900 * rows, (rows, 4, 1), (512, 1, 1))], logits)
        with host.annotation("gpu_model_runner: bookkeep"), host.frame("vllm/v1/worker/gpu_model_runner.py(2741): _bookkeeping_sync"):
            with host.op("aten::copy_", [[rows, 1], [rows, 1], []]):
                host.copy(8 * rows, COMPUTE, to_device=False)
            host.synchronize(COMPUTE)
            host.spend(24_000 + 4_000 * rows)

    def _gather_logits(self, rows):
        """The one collective that goes through torch.distributed: it has sizes, a group, and a stream of its own."""
        host, part = self.host, rows * model.VOCABULARY // 2
        facts = {"Collective name": "_allgather_base", "dtype": "BFloat16", "In msg nelems": part, "Out msg nelems": 2 * part,
                 "Group size": 2, "In split size": "[]", "Out split size": "[]", "Process Group Name": "2",
                 "Process Group Description": "tp:0", "Process Group Ranks": "[0, 1]", "Rank": 0}
        with host.op("c10d::_allgather_base_", [[rows * 2, model.VOCABULARY // 2], [rows, model.VOCABULARY // 2]]):
            with host.op("record_param_comms", [[rows, model.VOCABULARY // 2], []], extra=facts):
                host.record_event(COMPUTE, waiter=COLLECTIVES)
                kernel = model.Kernel(model.GATHER_NCCL, 11_000 + part // 90, (16, 1, 1), (640, 1, 1), 96, 90_112, facts)
                host.launch(kernel, COLLECTIVES, "cudaLaunchKernelExC")
                host.record_event(COLLECTIVES, waiter=COMPUTE)

    def _allocate(self, size):
        self._allocated += size
        self.trace.instant("cpu_instant_event", "[memory]", PROCESS, MAIN_THREAD, self.host.now, "t", {
            "Total Reserved": 33_285_996_544, "Total Allocated": self._allocated, "Bytes": size,
            "Addr": 140_000_000_000_000 + self._allocated, "Device Id": DEVICE, "Device Type": 1, "Ev Idx": self.trace.next_index()})
        self._allocated -= size // 2

    def watch(self, thread):
        """The thread that looks after collectives asks an event every 100 ms."""
        watchdog = Machine(self.trace, thread, START_NS + 37_000_000, seed=7)
        while watchdog.now < self.host.now:
            watchdog.call("cudaEventQuery", 1_900, 136)
            watchdog.now += 100_000_000

    def describe(self):
        """Names of processes and threads, and the profiler's own rows, as they stand at the end of a trace."""
        trace, begin, end = self.trace, START_NS - 1_400_000, self.host.now + 900_000
        trace.complete("overhead", "Activity Buffer Request", -1, 0, START_NS + 210_000, 1_830_000)
        for pid, labels, order in ((PROCESS, "CPU", PROCESS), (0, "GPU 0", 5_000_000), (1, "GPU 1", 5_000_001)):
            trace.describe("process_name", pid, 0, begin, name="VLLM::Worker_TP0")
            trace.describe("process_labels", pid, 0, begin, labels=labels)
            trace.describe("process_sort_index", pid, 0, begin, sort_index=order)
        threads = ((PROCESS, MAIN_THREAD, f"thread {MAIN_THREAD} (VLLM::Worker_TP)"), (PROCESS, WATCHDOG_THREAD, f"thread {WATCHDOG_THREAD} (pt_nccl_watchdg)"),
                   (DEVICE, COMPUTE, f"stream {COMPUTE} "), (DEVICE, COLLECTIVES, f"stream {COLLECTIVES} "), (DEVICE, 1_000_000 + COMPUTE, f"stream {COMPUTE} (sync)"))
        for order, (pid, tid, name) in enumerate(threads):
            trace.describe("thread_name", pid, tid, begin, name=name)
            trace.describe("thread_sort_index", pid, tid, begin, sort_index=order)
        trace.complete("Trace", "PyTorch Profiler (0)", "Spans", "PyTorch Profiler", begin, end - begin, {"Op count": 0})
        trace.describe("process_sort_index", "Spans", 0, begin, sort_index=536_870_912)
        trace.instant("", "Iteration Start: PyTorch Profiler", "Traces", "Trace PyTorch Profiler", begin, "g")
        trace.instant("", "Record Window End", "", "", end, "g")
