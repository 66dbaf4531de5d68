"""Problems written as text for one test each, and how to make a judge's nouns of them."""

import textwrap

import torch

from harness.judge.reference import Reference
from harness.judge.workload import Workload
from harness.spec import problem as problems

FRAME = """
import torch
from torch import nn
import torch.nn.functional as F

{axes}

class Model(nn.Module):
    def __init__(self{parameters}):
        super().__init__()
{construct}

    def forward(self, {inputs}):
{forward}


def get_inputs():
    return {drawn}


def get_init_inputs():
    return {arguments}
"""


def text(
    forward,
    *,
    inputs="x",
    drawn="[torch.rand(n, m)]",
    axes="n = 128\nm = 64",
    construct="pass",
    parameters="",
    arguments="[]",
):
    """A problem's module."""
    indent = " " * 8
    return FRAME.format(
        forward=textwrap.indent(textwrap.dedent(forward), indent),
        construct=textwrap.indent(textwrap.dedent(construct), indent),
        axes=axes,
        inputs=inputs,
        drawn=drawn,
        parameters=parameters,
        arguments=arguments,
    )


def sized(folder, source, name="problem", sidecar=None, overrides=None):
    """The text as a problem at its full size."""
    path = folder / f"{name}.py"
    path.write_text(source)
    if sidecar is not None:
        path.with_suffix(".yaml").write_text(sidecar)
    (found,) = problems.find(str(path), folder)
    return problems.resize(found, "full", overrides or {})


def reference(folder, source, dtype=torch.float32):
    """Executed."""
    return Reference(sized(folder, source), dtype)


def workload(folder, source, smoke=None):
    """Loaded on the CPU."""
    made = Workload(sized(folder, source), "fp32", torch.device("cpu"), smoke, "ab" * 16)
    made.load()
    return made
