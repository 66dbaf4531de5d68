from __future__ import annotations

import pytest

from harness.faults import UsageError
from harness.spec.axes import SourceText
from harness.spec.sizing import fitting, initial

DECLARED = {
    "height": 1024,
    "padding": 0,
    "dim": -1,
    "eps": 1e-5,
    "affine": True,
    "mode": "sum",
    "shape": (4, 8),
    "sizes": [4],
    "vocab": SourceText("config.vocab"),
    "limit": None,
}


@pytest.mark.parametrize(
    ("name", "value", "fitted"),
    [
        ("height", 512, 512),
        ("padding", 0, 0),
        ("padding", -1, -1),
        ("dim", 1, 1),
        ("eps", 1, 1.0),
        ("eps", -0.5, -0.5),
        ("affine", False, False),
        ("mode", "mean", "mean"),
        ("shape", (2,), (2,)),
        ("shape", [2, 3, 4], (2, 3, 4)),
        ("sizes", (2,), [2]),
        ("vocab", 50257, 50257),
        ("limit", 0.5, 0.5),
    ],
)
def test_a_value_of_the_declared_type_fits(name, value, fitted):
    found = fitting(DECLARED, {name: value}, "--set")[name]
    assert (found, type(found)) == (fitted, type(fitted))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("height", 0, "found 0; wanted a whole number of at least 1, like the declared 1024"),
        ("height", -3, "found -3; wanted a whole number of at least 1"),
        ("height", "nan", "found 'nan'; wanted a whole number"),
        ("height", 512.0, "found 512.0; wanted a whole number"),
        ("height", True, "found True; wanted a whole number"),
        ("height", "tall", "found 'tall'; wanted a whole number"),
        ("height", (1, 2), "found (1, 2); wanted a whole number"),
        ("height", 2**53, "wanted a whole number below 2^53"),
        ("eps", "nan", "found 'nan'; wanted a finite number"),
        ("eps", float("inf"), "found inf; wanted a finite number"),
        ("eps", False, "found False; wanted a finite number"),
        ("affine", 1, "found 1; wanted true or false"),
        ("mode", 1, "found 1; wanted text"),
        ("shape", 4, "found 4; wanted a list such as [1, 2]"),
        ("shape", (), "found (); wanted a list such as [1, 2]"),
        ("shape", (4, 0), "found (4, 0); wanted a whole number of at least 1"),
        ("vocab", 2**60, "wanted a whole number below 2^53"),
        ("heigth", 4, "found an unknown axis; did you mean 'height'? valid: height, padding"),
    ],
)
def test_a_misfit_names_axis_found_and_wanted(name, value, said):
    with pytest.raises(UsageError) as refused:
        fitting(DECLARED, {name: value}, "--set")
    assert str(refused.value).startswith(f"--set: {name}: ")
    assert said in str(refused.value)


MODEL = "class Model:\n    def __init__(self, rows, /, columns, *, bias=False{}):\n        pass\n"


def test_a_constructor_argument_has_to_exist():
    with pytest.raises(UsageError, match="did you mean 'bias'") as refused:
        initial(MODEL.format(""), {"bais": True}, "p.yaml: sizes.s.init")
    assert str(refused.value).startswith("p.yaml: sizes.s.init: bais: found no argument")


@pytest.mark.parametrize(
    "source", [MODEL.format(", **more"), "class Model(Base): pass", "Model = f()"]
)
def test_a_constructor_that_does_not_say_takes_anything(source):
    assert initial(source, {"bais": True}, "p.yaml") == {"bais": True}
