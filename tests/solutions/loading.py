"""Imports problems and solutions of this repository by path, as a worker would."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROBLEMS = ROOT / "problems" / "level1"
SOLUTIONS = ROOT / "solutions" / "level1"
NUMBERS = {path.stem.split("_")[0]: path.stem for path in PROBLEMS.glob("*.py")}


def load(path: Path):
    name = "loaded_" + "_".join(path.with_suffix("").parts[-2:])
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def problem(number: str):
    return load(PROBLEMS / f"{NUMBERS[number]}.py")


def solution(number: str, stem: str):
    return load(SOLUTIONS / NUMBERS[number] / f"{stem}.py")


def every_solution() -> list[tuple[str, str]]:
    return [
        (number, path.stem)
        for number, folder in sorted(NUMBERS.items())
        for path in sorted((SOLUTIONS / folder).glob("*.py"))
    ]
