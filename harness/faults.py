"""The two ways in which the harness itself refuses; a candidate's failures are values instead."""

from __future__ import annotations


class UsageError(Exception):
    """Something that the user named or wrote cannot be used; ends as one line and exit status 2.

    The line is made of where it stands (a file, an option), the key, what was found there, what
    was wanted, and what to do about it.
    """

    def __init__(
        self,
        where: str,
        *,
        key: str | None = None,
        found: str | None = None,
        wanted: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.where, self.key, self.found = where, key, found
        self.wanted, self.remedy = wanted, remedy
        super().__init__(self._line())

    def _line(self) -> str:
        head = self.where if self.key is None else f"{self.where}: {self.key}"
        parts = [f"{head}: found {self.found}" if self.found is not None else head]
        if self.wanted is not None:
            parts.append(f"wanted {self.wanted}")
        if self.remedy is not None:
            parts.append(self.remedy)
        return " ".join("; ".join(parts).split())


class HarnessFault(Exception):
    """The harness itself failed: never blamed on a solution, retried once, exit status 3."""
