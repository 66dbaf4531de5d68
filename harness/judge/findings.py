"""What an evaluation has gathered so far, whatever its verdict will be. Owns no judgement."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.judge.precision import Budget, Ledger
from harness.judge.provenance import Kernel
from harness.judge.trial import Trial
from harness.record.environment import Telemetry


@dataclass
class Findings:
    """Filled phase by phase; what was never reached stays as it is here."""

    ledger: Ledger
    trials: list[Trial] = field(default_factory=list)
    blocks: list[tuple[int, str]] = field(default_factory=list)
    budgets: dict[str, dict[str, Budget]] = field(default_factory=dict)
    telemetry: list[Telemetry] = field(default_factory=list)
    worst: dict[str, float] = field(default_factory=dict)
    policy: str = "none"
    checks: int = 0
    warmup: int = 0
    discarded: int = 0
    spin_ms: float = 0.0
    build_ms: float = 0.0
    prepare_ms: float = 0.0
    host_ms: float | None = None
    flags: dict[str, str] = field(default_factory=dict)
    kernels: list[Kernel] | None = None
    flags_imported: dict[str, str] = field(default_factory=dict)
    flags_after: dict[str, str] = field(default_factory=dict)
    peak_bytes: int | None = None
    prepared: bool = False
    unmatched: str | None = None

    def reached(self, asked: str) -> str | None:
        """The tightest class that every call so far was within."""
        return self.ledger.reached(asked)
