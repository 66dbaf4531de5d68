"""What ran: the share of device time in the candidate's own kernels, in libraries, in a compiler's.

Told from kernels' names in an unscored pass. A label beside the claimed backend, never a ban and
never a verdict: a Triton file that falls back to torch is shown as `library`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

GLOBAL = re.compile(r"__global__\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?void\s+"
                    r"(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)")  # fmt: skip
COMPILER = re.compile(r"^triton_(?:poi|red|per|tem|mm|bmm|for|spl)_?|^triton_\w*_fused_|^cpp_fused")
MEMORY = re.compile(r"^Mem(cpy|set)\b", re.IGNORECASE)
TOP = 12  # kernels that the record names


@dataclass(frozen=True)
class Kernel:
    """One kernel of the profiled call: its name, microseconds, launches."""

    name: str
    us: float
    launches: int


def own_kernels(source: str) -> frozenset[str]:
    """Names of the kernels that a solution defines: `@triton.jit` functions, `__global__` ones."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(map(_is_jit, node.decorator_list)):
            found.add(node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= set(GLOBAL.findall(node.value))
    return frozenset(found)


def _is_jit(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
    return name == "jit"


def kind_of(kernel: str, own: frozenset[str]) -> str:
    """own, compiler, memory or library."""
    if any(re.search(rf"\b{re.escape(name)}\b", kernel) for name in own):
        return "own"
    if MEMORY.search(kernel):
        return "memory"
    return "compiler" if COMPILER.search(kernel) else "library"


def provenance(source: str, claimed: str, kernels: Sequence[Kernel]) -> dict[str, object]:
    """The record's section: shares of device time, the observed kind beside the claimed backend."""
    own = own_kernels(source)
    total = sum(one.us for one in kernels)
    shares = dict.fromkeys(("own", "compiler", "library", "memory"), 0.0)
    for one in kernels:
        shares[kind_of(one.name, own)] += one.us / total if total else 0.0
    launched = {
        name for name in own for one in kernels if re.search(rf"\b{re.escape(name)}\b", one.name)
    }
    return {
        "claimed": claimed,
        "observed": _observed(claimed, shares) if total else "nothing",
        "shares": {name: round(share, 4) for name, share in shares.items()},
        "never_launched": sorted(own - launched),
        "kernels": [[one.name, round(one.us, 3), one.launches] for one in kernels[:TOP]],
    }


def _observed(claimed: str, shares: dict[str, float]) -> str:
    """What most of the time went to; one's own kernels go by the backend that was claimed."""
    kind = max(shares, key=lambda name: shares[name])
    if kind == "own":
        return claimed if claimed in ("triton", "cuda") else "own"
    return {"compiler": "inductor", "library": "library", "memory": "memory"}[kind]
