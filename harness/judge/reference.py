"""The problem's own code, executed: the model, its constructor arguments, its inputs.

A problem file is trusted code, like the harness; only the judge ever imports it. Whatever it raises
is the problem's fault and never a solution's: `ReferenceFault`, which becomes `invalid_reference`.
"""

from __future__ import annotations

import contextlib
import inspect
import random
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from harness.construct import construct, seed_torch
from harness.spec.problem import Sized

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


class ReferenceFault(Exception):
    """The problem itself failed; `reason` is a stable snake_case id."""

    def __init__(self, reason: str, detail: str, trace: str = "") -> None:
        self.reason, self.detail, self.trace = reason, detail, trace
        super().__init__(f"{reason}: {detail}")


@contextlib.contextmanager
def blaming(reason: str) -> Iterator[None]:
    """Turn whatever the problem's code raises into a `ReferenceFault`, memory errors aside."""
    try:
        yield
    except (ReferenceFault, torch.OutOfMemoryError, MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:
        detail = f"{type(error).__name__}: {error}"
        trace = "".join(traceback.format_exception(error))[-4000:]
        raise ReferenceFault(reason, detail[:1000], trace) from error


@dataclass(frozen=True)
class Arguments:
    """A call's arguments in plain form, the tensors taken out and left as {"tensor": index}."""

    parts: tuple[Any, ...]
    tensors: tuple[torch.Tensor, ...]


def take_apart(arguments: Any) -> Arguments:
    """Separate tensors from structure; raises `ReferenceFault` for what cannot travel."""
    tensors: list[torch.Tensor] = []
    parts = tuple(_plain(part, tensors) for part in arguments)
    return Arguments(parts, tuple(tensors))


def _plain(part: Any, tensors: list[torch.Tensor]) -> Any:
    if part is None or isinstance(part, bool | str) or type(part) is int:
        return part
    if isinstance(part, torch.Tensor):
        tensors.append(part)
        return {"tensor": len(tensors) - 1}
    if isinstance(part, float):
        return part if part - part == 0 else {"float": str(part)}
    if isinstance(part, list | tuple):
        kind = "tuple" if isinstance(part, tuple) else "list"
        return {kind: [_plain(one, tensors) for one in part]}
    if isinstance(part, dict):
        return {"dict": [[key, _plain(one, tensors)] for key, one in part.items()]}
    raise ReferenceFault("unsupported_argument", f"a {type(part).__name__} among the arguments")


def put_together(part: Any, tensors: Any) -> Any:
    """The inverse of `take_apart` for one argument."""
    if not isinstance(part, dict):
        return part
    (kind, inside), *_ = part.items()
    if kind == "tensor":
        return tensors[inside]
    if kind == "float":
        return float(inside)
    if kind == "dict":
        return {key: put_together(one, tensors) for key, one in inside}
    filled = [put_together(one, tensors) for one in inside]
    return tuple(filled) if kind == "tuple" else filled


class Reference:
    """One problem at one size, imported; `dtype` is None where the problem's own dtypes stay."""

    def __init__(self, sized: Sized, dtype: torch.dtype | None) -> None:
        self.sized, self.dtype = sized, dtype
        self._module = types.ModuleType(f"reference_{abs(hash(sized.source)):x}")
        self._module.__file__ = str(sized.problem.path)
        sys.modules[self._module.__name__] = self._module  # dataclasses look their module up
        with blaming("module_raised"), seeded(0):
            code = compile(sized.source, str(sized.problem.path), "exec")
            exec(code, self._module.__dict__)
        self._model = self._named("Model")
        self._inputs = self._named("get_inputs")
        self.arguments, self.keywords = self._constructor_arguments()

    def _named(self, name: str) -> Any:
        try:
            return getattr(self._module, name)
        except AttributeError:
            raise ReferenceFault("incomplete_problem", f"the file defines no {name}") from None

    def _constructor_arguments(self) -> tuple[list[Any], dict[str, Any]]:
        with blaming("get_init_inputs_raised"), seeded(0):
            make: Callable[[], Any] = getattr(self._module, "get_init_inputs", list)
            found = make()
        arguments, keywords = ([], dict(found)) if isinstance(found, dict) else (list(found), {})
        if not self.sized.init:
            return arguments, keywords
        with blaming("constructor_refused"):
            bound = inspect.signature(self._model).bind_partial(*arguments, **keywords)
            bound.arguments.update(self.sized.init)
            bound.apply_defaults()
        return list(bound.args), dict(bound.kwargs)

    def construct(self, seed: int, device: str, dtype: torch.dtype | None) -> nn.Module:
        """The model under the seed of its weights, on `device`."""
        with blaming("constructor_raised"), seeded(seed):
            return construct(
                self._model, self.arguments, self.keywords, seed=seed, device=device, dtype=dtype
            )

    def draw(self, seed: int, device: str) -> Arguments:
        """`get_inputs()` under `seed`, drawn on `device`, floating tensors cast to `dtype`."""
        with blaming("get_inputs_raised"), seeded(seed), torch.device(device):
            found = self._inputs()
        if not isinstance(found, list | tuple):
            raise ReferenceFault("get_inputs_raised", f"get_inputs gave a {type(found).__name__}")
        taken = take_apart(found)
        return Arguments(taken.parts, tuple(self._placed(one, device) for one in taken.tensors))

    def _placed(self, tensor: torch.Tensor, device: str) -> torch.Tensor:
        cast = self.dtype if tensor.is_floating_point() and self.dtype else tensor.dtype
        return tensor.detach().to(device=device, dtype=cast)


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Every generator that a problem may draw from, seeded; the judge keeps no state in them."""
    random.seed(seed)
    np.random.seed(seed % (1 << 32))
    seed_torch(seed)
    yield
