"""The events of a Kineto trace, written as torch 2.9 writes them: times in microseconds with three decimals after a base."""

import gzip
import json
import os
from collections import Counter

BASE_TIME_NS = 1_767_225_600_000_000_000  # 2026-01-01 00:00:00 UTC: the profiler's base is the start of a quarter


def _time(ns):
    """Exact decimal text of nanoseconds as microseconds: never through a float."""
    return f"{ns // 1000}.{ns % 1000:03d}"


def _json(value):
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


class KinetoWriter:
    """Collects events in the order they are made; write() puts the container around them.

    Times are integer nanoseconds after BASE_TIME_NS. `counts` holds the events by category.
    """

    def __init__(self):
        self.counts = Counter()
        self._lines = []
        self._ev_idx = 0

    def next_index(self):
        self._ev_idx += 1
        return self._ev_idx

    def complete(self, cat, name, pid, tid, start_ns, duration_ns, args=None):
        self.counts[cat] += 1
        tail = f', "args": {_json(args)}' if args else ""
        self._lines.append(
            f'{{"ph": "X", "cat": "{cat}", "name": {_json(name)}, "pid": {_json(pid)}, "tid": {_json(tid)}, '
            f'"ts": {_time(start_ns)}, "dur": {_time(duration_ns)}{tail}}}'
        )

    def flow(self, phase, number, pid, tid, at_ns):
        """One end of an `ac2g` arrow: "s" at the launch, "f" at every kernel that it started."""
        self.counts["ac2g " + phase] += 1
        binding = ', "bp": "e"' if phase == "f" else ""
        self._lines.append(
            f'{{"ph": "{phase}", "id": {number}, "pid": {pid}, "tid": {tid}, "ts": {_time(at_ns)}, '
            f'"cat": "ac2g", "name": "ac2g"{binding}}}'
        )

    def instant(self, cat, name, pid, tid, at_ns, scope, args=None):
        self.counts[cat or "mark"] += 1
        category = f'"cat": "{cat}", ' if cat else ""
        tail = f', "args": {_json(args)}' if args else ""
        self._lines.append(
            f'{{"ph": "i", {category}"s": "{scope}", "name": {_json(name)}, "pid": {_json(pid)}, "tid": {_json(tid)}, '
            f'"ts": {_time(at_ns)}{tail}}}'
        )

    def describe(self, what, pid, tid, at_ns, **args):
        """A metadata record: process_name, thread_name, …"""
        self.counts["metadata"] += 1
        self._lines.append(
            f'{{"ph": "M", "name": "{what}", "pid": {_json(pid)}, "tid": {_json(tid)}, "ts": {_time(at_ns)}, "args": {_json(args)}}}'
        )

    def write(self, path):
        """Writes FILE.json.gz through a temporary name; returns its size in bytes."""
        head = {"schemaVersion": 1, "deviceProperties": [_device(i) for i in range(2)]}
        head.update(
            {
                "record_shapes": 1,
                "profile_memory": 1,
                "with_stack": 1,
                "cupti_version": 130001,
                "cuda_runtime_version": 12080,
                "cuda_driver_version": 12080,
                "trace_id": "4A1C7E0B52D94F61A7703C5E9D21B8F0",
                "distributedInfo": _distributed_info(),
                "displayTimeUnit": "ms",
                "baseTimeNanoseconds": BASE_TIME_NS,
            }
        )
        partial = path + ".tmp"
        with open(partial, "wb") as raw:
            # No name and no time in the gzip header: the same bytes every time.
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=9, mtime=0) as out:
                out.write(json.dumps(head, indent=2)[:-2].encode())
                out.write(b',\n  "traceEvents": [\n  ')
                out.write(",\n  ".join(self._lines).encode())
                out.write(b'\n  ],\n  "traceName": "sample-rank-0.pt.trace.json"\n}\n')
        os.replace(partial, path)
        return os.path.getsize(path)


def _device(number):
    return {
        "id": number,
        "name": "NVIDIA H100 80GB HBM3",
        "totalGlobalMem": 84_929_347_584,
        "computeMajor": 9,
        "computeMinor": 0,
        "maxThreadsPerBlock": 1024,
        "maxThreadsPerMultiprocessor": 2048,
        "regsPerBlock": 65536,
        "warpSize": 32,
        "sharedMemPerBlock": 49152,
        "numSms": 132,
        "regsPerMultiprocessor": 65536,
        "sharedMemPerBlockOptin": 232448,
        "sharedMemPerMultiprocessor": 233472,
    }


def _distributed_info():
    groups = [("0", "default_pg"), ("2", "tp:0")]
    return {
        "backend": "nccl",
        "rank": 0,
        "world_size": 2,
        "pg_count": len(groups),
        "pg_config": [
            {"pg_name": name, "pg_desc": text, "backend_config": "cuda:nccl", "pg_size": 2, "ranks": [0, 1]} for name, text in groups
        ],
        "nccl_version": "2.27.3",
    }
