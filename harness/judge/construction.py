"""Bringing a candidate to life in its worker: the file, the model, the reference's weights.

Owns the phases load and build. What fails before the candidate's file is read is the harness's
fault, everything after it the candidate's.
"""

from __future__ import annotations

from typing import Any

import torch

from harness.faults import HarnessFault
from harness.judge import verdicts, weights
from harness.judge.findings import Findings
from harness.judge.reference import ReferenceFault, take_apart
from harness.judge.replies import BuildReply, OpenReply, ReportReply
from harness.judge.seeds import derive
from harness.judge.trial import Desk, Patience
from harness.record.schema import Failed, Phase

BATCH = 32  # tensors of weights in one message, which carries at most 64 descriptors


class Construction:
    """The first two phases of one evaluation."""

    def __init__(self, desk: Desk, findings: Findings, source: str) -> None:
        self.desk, self.findings, self.source = desk, findings, source
        self.workload = desk.workload

    def load(self, patience: Patience) -> Failed | None:
        """Open the device (ours to fail), then import the candidate's file."""
        device = str(self.workload.device)
        threads = torch.get_num_threads()
        request = {"op": "open", "device": device, "threads": threads}
        opened = self.desk.ask(OpenReply, request, Patience(Phase.LOAD, patience.total_s))
        if isinstance(opened, Failed):
            raise HarnessFault(f"a worker could not open {device}: {opened.detail} "
                               f"{opened.evidence.get('log', '')}")  # fmt: skip
        self.findings.flags = opened.flags
        path = self.desk.worker.scratch / "candidate.py"
        path.write_text(self.source, encoding="utf-8", errors="surrogatepass")
        name = f"candidate_{self.desk.worker.pid}"
        failed = self.desk.stage({"op": "load", "path": str(path), "module": name}, patience)
        if failed is not None:
            return failed
        reply = self.desk.ask(ReportReply, {"op": "report"}, patience)
        if isinstance(reply, Failed):
            return reply
        self.findings.flags_imported = reply.flags
        return None

    def build(self, patience: Patience, *, seeded_only: bool) -> Failed | None:
        """Construct under the seed; then the reference's weights, unless the seed has to do."""
        request = {"op": "build", **self._constructor(), "dtype": self._cast()}
        request["seed"] = f"{derive(self.workload.weights_seed, 'weights'):x}"
        reply = self.desk.ask(BuildReply, request, patience)
        if isinstance(reply, Failed):
            return reply
        self.findings.build_ms = reply.took_ms
        if reply.fault is not None:
            log = self.desk.worker.log_tail()
            return verdicts.from_fault(reply.fault, patience.phase, log)
        wanted = weights.named_state(self.workload.model)
        if not wanted:
            return None
        if seeded_only:
            self.findings.policy = "seeded"
            return None
        listed = self._listed(reply, patience)
        if isinstance(listed, Failed):
            return listed
        found = [(name, tuple(shape), own) for name, shape, own in listed]
        matched = weights.match(wanted, found)
        if isinstance(matched, weights.Unmatched):
            self.findings.policy, self.findings.unmatched = "seeded", matched.detail
            return None
        self.findings.policy = matched.policy
        return self._load_weights(matched, patience)

    def _listed(
        self, first: BuildReply, patience: Patience
    ) -> list[tuple[str, list[int], bool]] | Failed:
        """The names of the solution's state, all pages of them."""
        listed, more = list(first.state or []), first.more
        while more:
            request = {"op": "state", "start": len(listed)}
            reply = self.desk.ask(BuildReply, request, patience)
            if isinstance(reply, Failed):
                return reply
            if reply.fault is not None:
                return verdicts.from_fault(reply.fault, patience.phase, self.desk.worker.log_tail())
            listed += reply.state or []
            more = reply.more and bool(reply.state)
        return listed

    def _constructor(self) -> dict[str, Any]:
        reference = self.workload.reference
        keywords = [[name, one] for name, one in reference.keywords.items()]
        names = [name for name, _ in keywords]
        taken = take_apart([*reference.arguments, *(one for _, one in keywords)])
        if taken.tensors:
            raise ReferenceFault("unsupported_argument", "a tensor among constructor arguments")
        count = len(reference.arguments)
        named = [list(pair) for pair in zip(names, taken.parts[count:], strict=True)]
        return {"arguments": list(taken.parts[:count]), "keywords": {"dict": named}}

    def _cast(self) -> str | None:
        cast = self.workload.reference.dtype
        return str(cast).removeprefix("torch.") if cast is not None else None

    def _load_weights(self, matched: weights.Matched, patience: Patience) -> Failed | None:
        """A few tensors a message: it carries only so many descriptors, and a process has few."""
        for start in range(0, len(matched.names), BATCH):
            batch = slice(start, start + BATCH)
            shared = weights.share(self.workload.model, self.workload.device, batch)
            try:
                request: dict[str, Any] = {"op": "weights", "names": list(matched.names[batch])}
                request["tensors"] = [one.spec() for one in shared]
                descriptors = tuple(one.descriptor for one in shared)
                failed = self.desk.stage(request, patience, descriptors)
            finally:
                for one in shared:
                    one.close()
            if failed is not None:
                return failed
        return None
