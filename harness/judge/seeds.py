"""Secret seeds of one evaluation, and every other seed derived from them.

Fresh entropy for each evaluation, written into the record only afterwards, when it is worthless to
a candidate and lets anybody re-derive the digest of the inputs.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass


@dataclass(frozen=True)
class Seeds:
    """Three roots as hex: what is drawn as input, as weights, inside forward."""

    inputs: str
    weights: str
    forward: str

    @staticmethod
    def fresh() -> Seeds:
        """From the system's entropy."""
        return Seeds(*(secrets.token_hex(16) for _ in range(3)))


def derive(root: str, *path: object) -> int:
    """A 63-bit seed for one purpose; torch takes no larger one on every device."""
    text = "/".join([root, *map(str, path)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 1
