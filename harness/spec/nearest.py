"""What to say beside an unknown name: the nearest valid one first, then the others.

Owns the wording only; does not know what the names stand for.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

CLOSE = 0.5  # difflib's ratio: lets through two slips in a short word, keeps strangers out
SHOWN = 12  # names in one line; more hide the one that is looked for


def nearest(found: str, valid: Iterable[str]) -> str:
    """One phrase: `did you mean 'a'? valid: a, b, c` (shortened where there are many)."""
    names = list(dict.fromkeys(valid))
    if not names:
        return "there are none here"
    folded: dict[str, str] = {}
    for name in names:
        folded.setdefault(name.casefold(), name)
    close = difflib.get_close_matches(found.casefold(), list(folded), n=1, cutoff=CLOSE)
    listed = ", ".join(names[:SHOWN])
    if len(names) > SHOWN:
        listed += f" and {len(names) - SHOWN} more"
    return f"did you mean {folded[close[0]]!r}? valid: {listed}" if close else f"valid: {listed}"


def shown(value: object) -> str:
    """`value` as a line can carry it: quoted text, shortened, `nothing` for null."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."  # one line on a terminal
