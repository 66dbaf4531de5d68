"""Experiments: every value that a run depends on, each with where it came from.

Owns the config's keys, their defaults and ranges, and the order in which command line, config file
and defaults override each other. Does not know whether a name exists: problems, solutions and
sizes are looked up by whoever plans the run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from harness.faults import UsageError
from harness.spec.files import existing, shortest
from harness.spec.nearest import nearest
from harness.spec.strict_model import (
    FromList,
    FromNumber,
    Setting,
    StrictModel,
    keys_at,
    read,
    wanted,
)
from harness.spec.strict_yaml import inline, load, load_mapping

DEFAULT_CONFIG = "configs/default.yaml"  # what runs where no config is named
MOST_TRIALS = 100_000  # a record holds every sample on one line; this is 2 MB of them
LONGEST_S = 86_400  # a deadline of more than a day is a typing slip

_DEVICES = ("auto", "cpu", "cuda", "cuda:0")
_DEVICE = re.compile(r"auto|cpu|cuda|cuda:[0-9]{1,3}")


def _device(text: str) -> str:
    if not _DEVICE.fullmatch(text):
        raise wanted("auto, cpu, cuda or cuda:N", nearest(text, _DEVICES))
    return text


Text = Annotated[str, Field(min_length=1)]
Names = Annotated[tuple[Annotated[Text, FromNumber], ...], FromList, Field(min_length=1)]
Seconds = Annotated[float, Field(gt=0, le=LONGEST_S, allow_inf_nan=False)]


class Deadlines(StrictModel):
    """Seconds that each phase of an evaluation may take."""

    load: Seconds = 60
    build: Seconds = 300
    prepare: Seconds = 120
    check: Seconds = 120
    time: Seconds = 300


class Settings(StrictModel):
    """The keys of a config file. `asked` is written `class` there, and `axes` is written `set`."""

    problems: Names = ("1/87",)
    solutions: Names = ("eager", "inductor", "triton_tf32", "cuda_tf32")
    device: Annotated[str, AfterValidator(_device)] = "auto"
    sizes: Names = ("auto",)
    axes: dict[str, Setting] = Field(
        default_factory=dict, validation_alias="set", serialization_alias="set"
    )
    dtype: Literal["auto", "fp32", "fp16", "bf16"] = "auto"
    asked: Literal["auto", "fp32", "tf32", "fp16", "bf16"] = Field(
        default="auto", validation_alias="class", serialization_alias="class"
    )
    trials: Annotated[int, Field(ge=1, le=MOST_TRIALS)] = 100
    checks: Annotated[int, Field(ge=1, le=MOST_TRIALS)] = 5
    baseline: Text = "eager"
    pairing: Literal["auto", "abba", "off"] = "auto"
    cache: Literal["cold", "warm"] = "cold"
    deadlines_s: Deadlines = Deadlines()
    isolation: Literal["auto", "strict", "off"] = "auto"
    executor: Literal["local", "ray"] = "local"
    address: Text | None = None
    accelerator_type: Text | None = None
    out: Text = "results"


class Experiment(Settings):
    """The resolved settings of one run.

    `solutions_explicit` is false where nobody chose the solutions: a name of the default list that
    a problem lacks is then left out, not refused.
    """

    solutions_explicit: bool = True

    def as_config(self) -> dict[str, Any]:
        """Return the plain data that a config file with these very settings would hold."""
        return self.model_dump(mode="json", by_alias=True, exclude={"solutions_explicit"})


@dataclass(frozen=True)
class Override:
    """One value from the command line: `value` is text as typed, or plain data.

    `key` may be nested (`deadlines_s.load`, `set.height`). `origin` names the option in messages.
    """

    key: str
    value: object
    origin: str = "command line"


@dataclass(frozen=True)
class Resolved:
    """An experiment, and for each key (nested ones with dots) where its value came from."""

    experiment: Experiment
    origins: Mapping[str, str]

    def lines(self) -> list[tuple[str, str, str]]:
        """Return (key, value as YAML, origin) for each key, as --show-config prints them."""
        values = _flat(self.experiment.as_config())
        return [(key, inline(value), self.origins[key]) for key, value in values.items()]


def assignment(text: str, option: str, *, under: str = "") -> Override:
    """Return the Override that `KEY=VALUE` means; `under` is put before the key (`set.`)."""
    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        form = "AXIS=VALUE" if under else "KEY=VALUE"
        raise UsageError(option, found=repr(text), wanted=form)
    return Override(under + key.strip(), value.strip(), option)


def resolve(config: Path | None, options: Sequence[Override], root: Path) -> Resolved:
    """Return the experiment that a config file and the command line ask for.

    Without a config, the repository's `configs/default.yaml`. Each layer is checked before the
    next overrides it; a fault is a UsageError that names the file or the option, and the key.
    """
    settings: dict[str, Any] = {}
    origins = dict.fromkeys(_flat(Settings().model_dump(by_alias=True)), "default")
    path = _config(config, root)
    if path is not None:
        place = shortest(path, root)
        settings = load_mapping(path, place)
        read(Settings, settings, place)
        origins |= dict.fromkeys(_flat(settings), place)
    for option in options:
        value = _typed(option)
        settings = _overridden(settings, option, value)
        read(Settings, settings, option.origin)
        origins |= dict.fromkeys(_flat({option.key: value}), option.origin)
    explicit = origins["solutions"] not in ("default", DEFAULT_CONFIG)
    experiment = Experiment(**dict(read(Settings, settings, "config")), solutions_explicit=explicit)
    known = _flat(experiment.as_config())
    return Resolved(experiment, {key: _origin(key, origins) for key in known})


def _config(config: Path | None, root: Path) -> Path | None:
    if config is None:
        standard = root / DEFAULT_CONFIG
        return standard if standard.exists() else None
    found = existing(str(config), (root,))
    if found is not None:
        return found
    near = [shortest(path, root) for path in sorted((root / "configs").glob("*.yaml"))]
    remedy = nearest(str(config), near)
    raise UsageError(str(config), found="no such file", wanted="a config file", remedy=remedy)


def _overridden(settings: Mapping[str, Any], option: Override, value: object) -> dict[str, Any]:
    """Return `settings` with one value changed, a mapping merged; its type is not yet checked."""
    top, _, rest = option.key.partition(".")
    valid = keys_at(Settings, ())
    if top not in valid:
        remedy = nearest(top, valid)
        raise UsageError(option.origin, key=option.key, found="an unknown key", remedy=remedy)
    if rest and top not in _MAPPINGS:
        raise UsageError(option.origin, key=option.key, found="a nested key", wanted=top)
    if rest:
        value = {rest: value}
    before = settings.get(top, {})
    if isinstance(value, dict) and isinstance(before, dict):
        value = {**before, **value}
    return {**settings, top: value}


_LISTS = frozenset({"problems", "solutions", "sizes"})
_MAPPINGS = frozenset({"set", "deadlines_s"})
_NUMBERS = frozenset({"trials", "checks"})
_TEXTS = frozenset(keys_at(Settings, ())) - _LISTS - _MAPPINGS - _NUMBERS


def _typed(option: Override) -> object:
    """Return data as it is, and text by the rules of a config file.

    Text for a key that holds text is taken as typed, so that a folder may be called `12` or
    `a: b`; one name for a key that holds several is a list of one.
    """
    if not isinstance(option.value, str) or option.key in _TEXTS:
        return option.value
    if option.key not in _LISTS:
        return load(option.value, f"{option.origin}: {option.key}")
    listed = load(option.value, option.origin) if option.value.startswith("[") else None
    return listed if isinstance(listed, list) else [option.value]


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return the leaves of nested mappings under dotted keys; an empty mapping is a leaf."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            flat |= _flat(value, f"{before}{key}.")
        else:
            flat[before + key] = value
    return flat


def _origin(key: str, origins: Mapping[str, str]) -> str:
    return origins.get(key) or origins.get(key.partition(".")[0]) or "default"
