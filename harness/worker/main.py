"""The worker's loop: does what the judge asks, one request at a time, and answers with facts.

It owns nothing but the candidate. It never has the reference's source, the expected outputs, the
input seeds, the tolerances or the record, so whatever a candidate finds or changes in this process
is worthless to it.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

import torch

from harness import mapping, wire
from harness.construct import construct, seed_torch, state_of
from harness.mapping import Layout
from harness.worker import candidate, flags, profile, seal
from harness.worker.clock import DeviceStopwatch, HostStopwatch, Stopwatch

Request = dict[str, Any]
Reply = dict[str, Any]
PAGE = 200  # names of parameters that fit a message of 64 KiB


def value(part: Any, tensors: list[torch.Tensor]) -> Any:
    """An argument out of its message; {"tensor": i} stands for the i-th mapped tensor."""
    if not isinstance(part, dict):
        return part
    (kind, inside), *_ = part.items()
    if kind == "tensor":
        return tensors[inside]
    if kind == "float":  # JSON has no word for infinity
        return float(inside)
    if kind == "dict":
        return {key: value(one, tensors) for key, one in inside}
    filled = [value(one, tensors) for one in inside]
    return tuple(filled) if kind == "tuple" else filled


class Worker:
    """State of one evaluation: the candidate, its model, the mapped buffers."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.device = "cpu"
        self.make: Any = None
        self.model: Any = None
        self.sets: dict[int, list[Any]] = {}
        self.layouts: list[Layout] = []
        self.shared: list[torch.Tensor] = []
        self.structure: Any = None
        self.stopwatch: Stopwatch = HostStopwatch()

    @property
    def device_type(self) -> str:
        """Cpu or cuda."""
        return self.device.partition(":")[0]

    def open(self, request: Request, fds: tuple[int, ...]) -> Reply:
        """Start the device before any candidate code runs: what fails here is the harness's."""
        self.device = request["device"]
        if self.device_type == "cuda":
            torch.cuda.set_device(self.device)
            torch.empty(1, device=self.device)
            self.stopwatch = DeviceStopwatch()
        else:
            torch.set_num_threads(request["threads"])
        return {"flags": flags.read_all()}

    def load(self, request: Request, fds: tuple[int, ...]) -> Reply:
        """Import the candidate's file."""
        path, name = Path(request["path"]), request["module"]
        self.make, fault = candidate.attempt(lambda: candidate.load(path, name))
        return {"fault": fault}

    def build(self, request: Request, fds: tuple[int, ...]) -> Reply:
        """Construct the model under the seed of the weights; answers its state's names."""
        arguments = [value(part, []) for part in request["arguments"]]
        keywords = value(request["keywords"], [])
        dtype = getattr(torch, request["dtype"]) if request["dtype"] else None
        seed = int(request["seed"], 16)

        def call() -> Any:
            return construct(
                self.make, arguments, keywords, seed=seed, device=self.device, dtype=dtype
            )

        self.model, fault = candidate.attempt(call)
        if fault:
            return {"fault": fault}
        return self.state({"start": 0}, ())

    def state(self, request: Request, fds: tuple[int, ...]) -> Reply:
        """One page of the state's names, from number `start` on."""
        start = request["start"]
        named, fault = candidate.attempt(self._state_names)
        listed = named or []
        page = listed[start : start + PAGE]
        return {"fault": fault, "state": page, "more": len(listed) > start + PAGE}

    def _state_names(self) -> list[Any]:
        state = state_of(self.model)
        parameters = {name for name, _ in self.model.named_parameters(remove_duplicate=False)}
        return [
            [name[:200], list(tensor.shape), name in parameters] for name, tensor in state.items()
        ]

    def weights(self, request: Request, fds: tuple[int, ...]) -> Reply:
        """Copy the shared weights into the model, under the names that the judge has matched."""
        shared = self._mapped(request["tensors"], fds, writable=False)

        def call() -> None:
            own = state_of(self.model)
            with torch.no_grad():
                for name, (tensor, _) in zip(request["names"], shared, strict=True):
                    own[name].copy_(tensor)

        return {"fault": candidate.attempt(call)[1]}

    def prepare(self, request: Request, fds: tuple[int, ...]) -> Reply:
        """Run the candidate's own `prepare()`, if it defines one."""
        own = getattr(self.model, "prepare", None)
        if own is None:
            return {"fault": None, "defined": False}
        with torch.no_grad():
            return {"fault": candidate.attempt(own)[1], "defined": True}

    def inputs(self, request: Request, fds: tuple[int, ...]) -> Reply:
        """Map one address set; `arguments` is the call with the tensors left as their index."""
        tensors = [tensor for tensor, _ in self._mapped(request["tensors"], fds, writable=False)]
        self.sets[request["set"]] = [value(part, tensors) for part in request["arguments"]]
        return {"fault": None}

    def output(self, request: Request, fds: tuple[int, ...]) -> Reply:
        """Map the shared output."""
        mapped = self._mapped(request["tensors"], fds, writable=True)
        self.shared = [tensor for tensor, _ in mapped]
        self.layouts = [layout for _, layout in mapped]
        self.structure = request["structure"]
        return {"fault": None}

    def call(self, request: Request, fds: tuple[int, ...]) -> Reply:
        """One call: spin, start, candidate, end, whole-device sync, seal."""
        if request["new_block"] and self.device_type == "cuda":
            torch._C._cuda_emptyCache()
        seed_torch(int(request["seed"], 16))
        arguments = self.sets[request["set"]]
        steps: list[str] = []

        def once() -> Any:
            with torch.no_grad():
                model = self.model
                return self.stopwatch.time(lambda: model(*arguments), request["spin_ms"], steps)

        timed, fault = candidate.attempt(once)
        if fault:
            return {"fault": fault}
        result, times = timed
        reply: Reply = {"device_ms": times.device_ms, "host_ms": times.host_ms}
        reply |= {"tail_ms": times.tail_ms, "compiles": compiles()}
        mismatch, fault = candidate.attempt(lambda: self._seal(result))
        steps.append("seal")
        return {"fault": fault, "mismatch": mismatch, "steps": steps, **reply}

    def _seal(self, result: Any) -> dict[str, str] | None:
        try:
            with torch.no_grad():
                seal.seal(result, self.structure, self.layouts, self.shared, self.device_type)
        except seal.Mismatch as mismatch:
            return mismatch.plain()
        if self.device_type == "cuda":
            torch._C._cuda_synchronize()
        return None

    def report(self, request: Request, fds: tuple[int, ...]) -> Reply:
        """Flags and peak memory as they stand now: notes for the record, no verdict."""
        peak = 0
        if self.device_type == "cuda":
            peak = torch.cuda.max_memory_reserved()
        return {"flags": flags.read_all(), "peak_bytes": peak}

    def profile(self, request: Request, fds: tuple[int, ...]) -> Reply:
        """Name the kernels of one more call; nothing of it is timed or checked."""
        arguments, model = self.sets[0], self.model

        def once() -> Any:
            with torch.no_grad():
                return profile.kernels(lambda: model(*arguments))

        kernels, fault = candidate.attempt(once)
        return {"fault": fault, "kernels": kernels or []}

    def _mapped(
        self, tensors: list[Request], fds: tuple[int, ...], *, writable: bool
    ) -> list[tuple[torch.Tensor, Layout]]:
        found = []
        for spec, descriptor in zip(tensors, fds, strict=True):
            layout = Layout.parse(spec)
            if self.device_type == "cuda":
                index = torch.cuda.current_device()
                raw = mapping.import_device(descriptor, spec["held"], index, writable=writable)
            else:
                raw = mapping.map_memfd(descriptor, spec["held"], writable=writable)
                os.close(descriptor)
            found.append((layout.over(raw), layout))
        return found


def compiles() -> int:
    """Graphs that dynamo has compiled so far in this process."""
    module = sys.modules.get("torch._dynamo.utils")
    return int(module.counters["stats"]["unique_graphs"]) if module else 0


def run(sock: socket.socket) -> None:
    """Answer requests until the judge says close or is gone."""
    worker = Worker(sock)
    names = "open load build state weights prepare inputs output call report profile"
    operations = {name: getattr(worker, name) for name in names.split()}
    while True:
        try:
            request, fds = wire.receive(sock)
        except wire.Closed:
            return
        started = time.perf_counter_ns()
        if request["op"] == "close":
            return
        reply = operations[request["op"]](request, fds)
        reply |= {"nonce": request["nonce"], "seq": request["seq"]}
        reply["took_ms"] = (time.perf_counter_ns() - started) / 1e6
        wire.send(sock, reply)
