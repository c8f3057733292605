"""The log of the service's API server, as its container wrote it: a stamp with zone and nanoseconds, then the engine's own line."""

import os
from datetime import datetime, timedelta, timezone

from kineto_writer import BASE_TIME_NS
from machine import Jitter

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_SERVER = "(APIServer pid=4100)"
_WORDS = ("summary", "release notes", "error report", "unit tests", "translation", "recipe", "query plan", "travel route")


class Request:
    """One request of a client: when it came in, when it was answered."""

    def __init__(self, number, prompt_tokens, penalty=1.0):
        jitter = Jitter(9_000 + number)
        self.id = "chatcmpl-" + "".join(f"{int(jitter.part() * 65_536):04x}" for _ in range(4))
        self.number, self.prompt_tokens, self.penalty = number, prompt_tokens, penalty
        self.output_tokens = 0
        self.arrival_ns = None
        self.first_token_ns = None
        self.end_ns = None  # stays None while it is served beyond the end of the trace


class ServiceLog:
    """Collects lines in any order; write() sorts them by time. Times are nanoseconds after BASE_TIME_NS, as in the trace."""

    def __init__(self):
        self._lines = []

    def engine(self, at_ns, place, text, level="INFO"):
        """A line of the engine's own logger: month, day and second, no year, no zone."""
        self._lines.append((at_ns, f"{_SERVER} {level} {_wall(at_ns):%m-%d %H:%M:%S} [{place}] {text}"))

    def access(self, at_ns, port, status=200):
        self._lines.append((at_ns, f'{_SERVER} INFO:     10.20.0.7:{port} - "POST /v1/chat/completions HTTP/1.1" {status} OK'))

    def request(self, request):
        """What the server says about one request."""
        about = _WORDS[request.number % len(_WORDS)]
        self.engine(
            request.arrival_ns,
            "logger.py:41",
            f"Received request {request.id}: prompt: '<|im_start|>user\\nWrite the {about}.<|im_end|>\\n', params: SamplingParams(n=1, "
            f"presence_penalty=0.0, frequency_penalty=0.0, repetition_penalty={request.penalty}, temperature=0.7, top_p=0.95, top_k=-1, "
            f"max_tokens=512), prompt_token_ids: None, prompt_embeds shape: None, lora_request: None.",
        )
        self.engine(request.arrival_ns + 210_000, "async_llm.py:317", f"Added request {request.id}.")
        if request.end_ns is not None:
            self.engine(
                request.end_ns + 340_000,
                "logger.py:75",
                f"Generated response {request.id} (streaming complete): output: '…', output_token_ids: None, finish_reason: stop",
            )
            self.access(request.end_ns + 520_000, 51_400 + request.number)

    def throughput(self, at_ns, prompt, generation, running, waiting, usage):
        self.engine(
            at_ns,
            "loggers.py:127",
            f"Engine 000: Avg prompt throughput: {prompt:.1f} tokens/s, Avg generation throughput: {generation:.1f} tokens/s, "
            f"Running: {running} reqs, Waiting: {waiting} reqs, GPU KV cache usage: {usage:.1f}%, Prefix cache hit rate: 0.0%",
        )

    def write(self, path):
        """Writes FILE through a temporary name; returns its size in bytes."""
        partial = path + ".tmp"
        with open(partial, "w", encoding="utf-8", newline="\n") as out:
            for at_ns, line in sorted(self._lines):
                out.write(f"{_wall(at_ns):%Y-%m-%dT%H:%M:%S}.{at_ns % 1_000_000_000:09d}Z stdout F {line}\n")
        os.replace(partial, path)
        return os.path.getsize(path)


def _wall(at_ns):
    return _EPOCH + timedelta(seconds=(BASE_TIME_NS + at_ns) // 1_000_000_000)
