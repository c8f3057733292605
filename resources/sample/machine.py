"""A host thread that issues work, and the device streams that do it: how times of a trace come to be."""

from contextlib import contextmanager

PROCESS = 4211
DEVICE = 0


class Jitter:
    """Small deterministic variation; the numbers of a linear congruential generator are the same everywhere."""

    def __init__(self, seed):
        self._state = seed

    def part(self):
        """A number in [0, 1)."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (self._state >> 33) / (1 << 31)

    def around(self, ns, share=0.06):
        return max(1, int(ns * (1 + share * (2 * self.part() - 1))))


class Kernel:
    """One launchable kernel: name, duration, grid and block, and the arguments of a collective where it is one."""

    def __init__(self, name, ns, grid=(132, 1, 1), block=(128, 1, 1), registers=64, shared=0, collective=None):
        self.name, self.ns, self.grid, self.block = name, ns, list(grid), list(block)
        self.registers, self.shared, self.collective = registers, shared, collective


class Machine:
    """One host thread (`now` is its clock) and the streams of one device.

    A kernel starts when its launch has arrived and its stream is free; nothing else decides a time.
    """

    ARRIVAL_NS = 2_300

    def __init__(self, trace, thread, start_ns, seed):
        self.trace, self.thread, self.now = trace, thread, start_ns
        self.jitter = Jitter(seed)
        self.free_at = {}  # stream → when it has done everything so far
        self.device_marks = []  # (start, end) of the work since the list was last emptied
        self._correlation = 80_000
        self._external = 300_000
        self._python = 5_000
        self._open_ops = [0]
        self._open_frames = [None]
        self._graph_node = 0

    def spend(self, ns, share=0.15):
        self.now += self.jitter.around(ns, share)

    @contextmanager
    def frame(self, name):
        """A Python frame."""
        self._python += 1
        number, parent, start = self._python, self._open_frames[-1], self.now
        self._open_frames.append(number)
        self.spend(900)
        yield
        self.spend(600)
        self._open_frames.pop()
        args = {"Python parent id": parent, "Python id": number, "Ev Idx": self.trace.next_index()}
        self.trace.complete("python_function", name, PROCESS, self.thread, start, self.now - start, args)

    @contextmanager
    def op(self, name, dims=None, cat="cpu_op", before=1_500, after=800, extra=None):
        """An operator or annotation; calls made inside carry its External id."""
        self._external += 1
        number, start = self._external, self.now
        self._open_ops.append(number)
        self.spend(before)
        yield
        self.spend(after)
        self._open_ops.pop()
        args = {"External id": number, "Record function id": 0, "Ev Idx": self.trace.next_index()}
        if dims is not None:
            args["Input Dims"] = dims
            args["Input type"] = ["c10::BFloat16" if d else "" for d in dims]
        args.update(extra or {})
        self.trace.complete(cat, name, PROCESS, self.thread, start, self.now - start, args)

    def annotation(self, name):
        return self.op(name, cat="user_annotation", before=2_000, after=900)

    def call(self, name, ns, cbid, cat="cuda_runtime", until=None):
        """A runtime call of about `ns`, or until a time where that is later; returns its correlation."""
        self._correlation += 1
        start = self.now
        self.spend(ns)
        if until is not None and until > self.now:
            self.now = until + self.jitter.around(6_000)
        args = {"External id": self._open_ops[-1], "cbid": cbid, "correlation": self._correlation}
        self.trace.complete(cat, name, PROCESS, self.thread, start, self.now - start, args)
        return self._correlation, start

    def launch(self, kernel, stream, api="cudaLaunchKernel"):
        cat, cbid = ("cuda_driver", 652) if api == "cuLaunchKernelEx" else ("cuda_runtime", 211 if api == "cudaLaunchKernel" else 430)
        correlation, start = self.call(api, 4_200, cbid, cat)
        self.trace.flow("s", correlation, PROCESS, self.thread, start)
        self._run(kernel, stream, correlation, gap_ns=900)

    def launch_graph(self, kernels, stream, graph, host_ns):
        """One call, many kernels: all carry the correlation of the launch."""
        correlation, start = self.call("cudaGraphLaunch", host_ns, 311)
        self.trace.flow("s", correlation, PROCESS, self.thread, start)
        for node, kernel in enumerate(kernels):
            self._run(kernel, stream, correlation, gap_ns=750, graph=(graph, node))

    def copy(self, size, stream, to_device=True):
        name = "Memcpy HtoD (Pinned -> Device)" if to_device else "Memcpy DtoH (Device -> Pinned)"
        correlation, start = self.call("cudaMemcpyAsync", 4_800, 41)
        self.trace.flow("s", correlation, PROCESS, self.thread, start)
        ns = self.jitter.around(1_100 + size // 24)
        begin = self._begin(stream, 700)
        self._mark(stream, begin, ns)
        args = {"External id": self._open_ops[-1], "device": DEVICE, "context": 1, "stream": stream, "correlation": correlation,
                "bytes": size, "memory bandwidth (GB/s)": size / ns}
        self.trace.complete("gpu_memcpy", name, DEVICE, stream, begin, ns, args)
        self.trace.flow("f", correlation, DEVICE, stream, begin)

    def record_event(self, stream, waiter=None):
        """cudaEventRecord on a stream; `waiter` starts nothing before that point."""
        self.call("cudaEventRecord", 1_400, 135)
        if waiter is not None:
            self.call("cudaStreamWaitEvent", 1_500, 147)
            self.free_at[waiter] = max(self.free_at.get(waiter, 0), self.free_at.get(stream, 0))

    def synchronize(self, stream):
        begin = self.now
        end = self.free_at.get(stream, 0)
        correlation, _ = self.call("cudaStreamSynchronize", 3_000, 131, until=end)
        args = {"cuda_sync_kind": "Stream Sync", "stream": stream, "correlation": correlation, "device": DEVICE, "context": 1}
        self.trace.complete("cuda_sync", "Stream Sync", DEVICE, 1_000_000 + stream, begin, max(1, end - begin), args)

    def device_range(self, name, stream, external, start, end):
        """The shadow of an annotation on its stream, with the profiler's margin of a nanosecond on both sides."""
        args = {"External id": external}
        self.trace.complete("gpu_user_annotation", name, DEVICE, stream, start - 1, end - start + 2, args)

    def last_external(self):
        return self._external

    def _begin(self, stream, gap_ns):
        return max(self.now + self.jitter.around(self.ARRIVAL_NS), self.free_at.get(stream, 0) + self.jitter.around(gap_ns, 0.3))

    def _mark(self, stream, begin, ns):
        self.free_at[stream] = begin + ns
        self.device_marks.append((begin, begin + ns))

    def _run(self, kernel, stream, correlation, gap_ns, graph=None):
        begin, ns = self._begin(stream, gap_ns), self.jitter.around(kernel.ns)
        self._mark(stream, begin, ns)
        blocks = kernel.grid[0] * kernel.grid[1] * kernel.grid[2]
        threads = kernel.block[0] * kernel.block[1] * kernel.block[2]
        args = {"External id": self._open_ops[-1], "queued": 0, "device": DEVICE, "context": 1, "stream": stream,
                "correlation": correlation, "registers per thread": kernel.registers, "shared memory": kernel.shared,
                "blocks per SM": round(blocks / 132, 6), "warps per SM": round(blocks * threads / 32 / 132, 6),
                "grid": kernel.grid, "block": kernel.block,
                "est. achieved occupancy %": min(100, round(100 * blocks * threads / 32 / 132 / 64))}
        if graph is not None:
            args["graph id"], args["graph node id"] = graph[0], graph[0] * 100_000 + graph[1]
        if kernel.collective is not None:
            args.update(kernel.collective)
        self.trace.complete("kernel", kernel.name, DEVICE, stream, begin, ns, args)
        self.trace.flow("f", correlation, DEVICE, stream, begin)
