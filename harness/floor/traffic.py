"""Traffic: the bytes and operations that a workload cannot do without.

Owns what each policy counts. Does not know any device.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, cast, get_args

from harness.faults import UsageError
from harness.spec.nearest import nearest
from harness.spec.tensor import Signature, TensorSpec

Policy = Literal["complete-v2", "headroom-v1"]
POLICIES: tuple[str, ...] = get_args(Policy)

_COUNTED: Mapping[str, tuple[str, ...]] = {
    "complete-v2": ("inputs", "parameters", "outputs"),
    "headroom-v1": ("inputs",),  # the index knows no other tensor's shape
}


@dataclass(frozen=True)
class Traffic:
    """Bytes that cross memory once each, and operations; `parts` splits the bytes by role."""

    bytes: int
    flops: int
    parts: Mapping[str, int]


def policy_named(name: str, *, where: str = "--policy") -> Policy:
    """Return the policy of that name, or raise UsageError with the nearest one."""
    if name not in POLICIES:
        raise UsageError(where, found=repr(name), wanted="a policy", remedy=nearest(name, POLICIES))
    return cast("Policy", name)


def traffic(signature: Signature, policy: Policy = "complete-v2") -> Traffic:
    """Return what `policy` counts: headroom-v1 inputs alone, complete-v2 all and the arithmetic."""
    tensors = {
        "inputs": signature.inputs,
        "parameters": signature.parameters,
        "outputs": signature.outputs,
    }
    parts = {role: _bytes(tensors[role]) for role in _COUNTED[policy]}
    flops = signature.flops if policy == "complete-v2" else 0
    return Traffic(sum(parts.values()), flops, parts)


def _bytes(tensors: Iterable[TensorSpec]) -> int:
    return sum(tensor.nbytes for tensor in tensors)
