"""Which values each call gets, secretly drawn: families of the checks, of the timed blocks.

The family that decides the class is never used only untimed: a kernel could be exact while it is
classed and cheap while it is timed. Owns the plan; knows no worker.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harness.judge.families import DECLARED, STRESS

BLOCK = 5  # trials on the same buffers
DECIDING_SHARE = 0.3  # of the timed blocks
# A kernel that knows the statistics of the declared values (of a million uniform ones the mean is
# 0.5) is right and fast on these alone, and careful where values look unusual. So a few timed
# blocks are unusual, by scale and outliers only: what has many equal bits draws less power.
TIMED_STRESS = ("spikes", "small", "large")
STRESS_SHARE = 0.15


@dataclass(frozen=True)
class BlockPlan:
    """A few trials on one address set and one family."""

    trials: int
    set: int
    family: str


def check_families(
    checks: int, deciding: str, usable: Callable[[str], bool], secret: int
) -> Iterator[str]:
    """The families of the untimed calls: the deciding one first, then a secret draw of the others.

    `usable` tells whether the reference stays finite on one; it takes time, so none is asked for
    in vain.
    """
    others = list(STRESS)
    random.Random(secret).shuffle(others)
    usable_others = (one for one in others if usable(one))
    return itertools.islice(itertools.chain([deciding], usable_others), checks)


def timed_stress(usable: Callable[[str], bool], secret: int) -> str | None:
    """The one stress family of the timed blocks; None where the reference is finite on none."""
    others = list(TIMED_STRESS)
    random.Random(secret).shuffle(others)
    return next((one for one in others if usable(one)), None)


def blocks(
    trials: int, sets: int, deciding: str, secret: int, *, stress: str | None = None
) -> tuple[BlockPlan, ...]:
    """Blocks of `BLOCK` trials (the last may be shorter), secret shares of deciding and stress."""
    count = math.ceil(trials / BLOCK)
    draw = random.Random(secret)
    share = max(1, round(DECIDING_SHARE * count)) if count > 1 else 0
    rest = max(1, round(STRESS_SHARE * count)) if count > 2 and stress else 0
    special = draw.sample(range(count), share + rest)
    families = dict.fromkeys(special[:share], deciding)
    if stress:
        families |= dict.fromkeys(special[share:], stress)
    first = draw.randrange(sets)
    return tuple(
        BlockPlan(
            trials=min(BLOCK, trials - BLOCK * number),
            set=(first + number) % sets,
            family=families.get(number, DECLARED),
        )
        for number in range(count)
    )
