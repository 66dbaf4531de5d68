"""What the command line's parser refuses, as one line like every other refusal.

Owns the wording. Takes the parser's errors and commands by their attributes alone, so that it does
not depend on which parser raised them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.faults import UsageError
from harness.spec.nearest import nearest


def in_our_words(error: Any, arguments: Sequence[str], program: str, group: Any) -> UsageError:
    """Return a parser's `error` with what was found, what is wanted and the nearest name."""
    option, first = getattr(error, "option_name", None), next(iter(arguments), "")
    if first in group.commands:
        return _of_command(error, option, f"{program} {first}", group.commands[first])
    if option is None:
        return UsageError(program, found=_message(error), wanted="a command")
    wanted = f"a command before its options, such as {program} run --trials 20"
    return UsageError(program, found=repr(option), wanted=wanted)


def _of_command(error: Any, option: str | None, where: str, command: Any) -> UsageError:
    known = {name: one for one in command.params for name in one.opts}
    if option is not None and option in known:
        return _misused(where, option, known[option])
    if option is not None:
        remedy = nearest(option, [name for name in (*known, "--help") if name[0] == "-"])
        return UsageError(where, found=repr(option), wanted="an option", remedy=remedy)
    argument = getattr(error, "param", None)
    if argument is not None:
        said = _said(argument)
        return UsageError(where, key=argument.name.upper(), found="nothing", wanted=said)
    names = [one.name.upper() for name, one in known.items() if name[0] != "-"]
    wanted = f"no more than {', '.join(names) or 'options'}"
    return UsageError(where, found=_message(error), wanted=wanted)


def _misused(where: str, option: str, parameter: Any) -> UsageError:
    if parameter.is_flag:
        return UsageError(where, key=option, found="a value", wanted="none")
    return UsageError(where, key=option, found="no value", wanted=f"one: {_said(parameter)}")


def _said(parameter: Any) -> str:
    """A parameter's help as part of a sentence."""
    text = str(parameter.help or "a value").rstrip(".")
    return text[0].lower() + text[1:]


def _message(error: Any) -> str:
    text = " ".join(str(error.format_message()).split())
    return text.removeprefix("Got unexpected ").rstrip(".")
