"""Where source files lie: what a path means to a person, and the sources below a folder.

Owns lookups on disk that never raise for a strange name; does not know what a file is for.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path


def digest(content: bytes) -> str:
    """Return `sha256:<hex>`."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def existing(query: str, bases: Iterable[Path]) -> Path | None:
    """Return the first file or folder that `query` names, as typed or below one of `bases`."""
    if not query.strip():
        return None  # Path("") would be the current folder
    try:
        typed = Path(query).expanduser()
        places = [typed, *(base / typed for base in bases)]
        return next((place for place in places if place.exists()), None)
    except (OSError, ValueError, RuntimeError):  # too long, a NUL inside, no such home
        return None


def sources(folder: Path) -> list[Path]:
    """Return every Python file below `folder`, hidden and underscored ones aside, in order."""
    found = [path for path in folder.rglob("*.py") if path.is_file()]
    visible = [path for path in found if not _is_private(path.relative_to(folder))]
    return sorted(visible, key=lambda path: _order(path.relative_to(folder)))


def _is_private(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _order(path: Path) -> list[tuple[int, str]]:
    """Sort numbers by value: `2_a` before `10_b`."""
    pieces = re.split(r"(\d+)", path.as_posix())
    return [(int(piece), "") if piece.isdecimal() else (-1, piece) for piece in pieces]


def shortest(path: Path, root: Path) -> str:
    """Return `path` as a person standing in `root` would type it."""
    absolute = path.absolute()
    home = root.absolute()
    return str(absolute.relative_to(home)) if absolute.is_relative_to(home) else str(path)
