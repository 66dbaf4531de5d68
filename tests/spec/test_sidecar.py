from __future__ import annotations

import pytest

from harness.faults import UsageError
from harness.spec.sidecar import Sidecar, beside
from harness.spec.strict_model import read
from harness.spec.strict_yaml import load


def test_every_key_is_optional(tmp_path):
    assert beside(tmp_path / "problem.py", "problem.yaml") == Sidecar()
    assert (Sidecar().semantics_version, Sidecar().writes_inputs) == (1, False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("titel: x", "titel: found an unknown key; did you mean 'title'?"),
        ("title: 7", "title: found 7; wanted text"),
        ("semantics_version: 1e0", "semantics_version: found 1.0; wanted a whole number"),
        ("semantics_version: 0", "semantics_version: found 0; wanted at least 1"),
        ("writes_inputs: no", "writes_inputs: found 'no'; wanted true or false"),
        ("sizes: [smoke]", "sizes: found ['smoke']; wanted a mapping"),
        (
            "sizes: {smoke: {axis: {}}}",
            "sizes.smoke.axis: found an unknown key; did you mean",
        ),
        ("sizes: {smoke: {axes: {n: null}}}", "sizes.smoke.axes.n: found nothing; wanted a number"),
        ("sizes: {smoke: {axes: {n: {}}}}", "sizes.smoke.axes.n: found an empty mapping; wanted a"),
        ("sizes: {auto: {}}", "sizes: found a mapping; wanted sizes' names"),
        ("sizes: {full: {axes: {n: 1}}}", "sizes: found a mapping; wanted full without axes"),
        (
            "tensors: {inputs: [{name: x}]}",
            "tensors.inputs.0.dtype: found nothing; wanted this",
        ),
        (
            "tensors: {inputs: [{name: x, dtype: fp32, shape: []}]}",
            "tensors.inputs.0.dtype: found 'fp32'; wanted one of bool",
        ),
        (
            "tensors: {inputs: [{name: x, dtype: bool, shape: [-1]}]}",
            "tensors.inputs.0.shape: found [-1]; wanted lengths of 0 or more",
        ),
        (
            "tensors: {inputs: [{name: x, dtype: bool, shape: [], generater: rand}]}",
            "tensors.inputs.0.generater: found an unknown key; did you mean 'generator'?",
        ),
    ],
)
def test_a_bad_sidecar_is_one_line_naming_key_found_and_wanted(text, said):
    with pytest.raises(UsageError) as refused:
        read(Sidecar, load(text, "p.yaml"), "p.yaml")
    assert str(refused.value).startswith(f"p.yaml: {said}")


def test_full_may_be_listed_as_it_is():
    assert "full" in read(Sidecar, {"sizes": {"full": {}, "smoke": {}}}, "p.yaml").sizes
