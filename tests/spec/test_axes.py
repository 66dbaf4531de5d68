from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.spec.axes import SourceText, axes, parse, rewrite

READ = {
    "N = 4096": {"N": 4096},
    "N = 2048 * 2": {"N": 4096},
    "N: int = 4": {"N": 4},
    "a, b = 1, 2": {"a": 1, "b": 2},
    "(a, [b, c]) = (1, [2, 3])": {"a": 1, "b": 2, "c": 3},
    "a = b = 7": {"a": 7, "b": 7},
    "pair = a, b = 1, 2": {"pair": (1, 2), "a": 1, "b": 2},
    "n = 4\nshape = (n, n * 2)": {"n": 4, "shape": (4, 8)},
    "shape = (4, 8)\nrows = shape[0]": {"shape": (4, 8), "rows": 4},
    "a, *rest = 1, 2, 3": {"a": SourceText("*(1, 2, 3)"), "rest": SourceText("*(1, 2, 3)")},
    "n = 4\nn *= 2": {"n": 8},
    "n = (m := 3) + 1": {"m": 3, "n": 4},
    "if True:\n    n = 1\nelse:\n    n = 2": {"n": 1},
    "if big():\n    n = 1\nelse:\n    n = 1": {"n": 1},
    "if big():\n    n = 1\nelse:\n    n = 2": {"n": SourceText("1 or 2")},
    "try:\n    n = 1\nexcept E:\n    n = 2": {"n": SourceText("1 or 2")},
    "with x:\n    n = 1": {"n": 1},
    "if __name__ == '__main__':\n    n = 1": {},
    "def f():\n    n = 1": {},
    "class C:\n    n = 1": {},
    "_private = 1\nModel = object": {},
    "eps = 1e-5": {"eps": 1e-5},
    "mode = 'sum'": {"mode": "sum"},
    "bias = None": {"bias": None},
    "padding = -1": {"padding": -1},
    "config = load('x')": {"config": SourceText("load('x')")},
    "config = f()\nn = config.size": {
        "config": SourceText("f()"),
        "n": SourceText("config.size"),
    },
    "n = 10 ** 10 ** 10": {"n": SourceText("10 ** 10 ** 10")},
    "n = 2 ** 64 ** 64": {"n": SourceText("2 ** 64 ** 64")},
    "n = 'a' * 10**9": {"n": SourceText("'a' * 10 ** 9")},
    "n = '%1000000000d' % 1": {"n": SourceText("'%1000000000d' % 1")},
    "n = 1 / 0": {"n": SourceText("1 / 0")},
    "n = 1e308 * 10": {"n": SourceText("1e+308 * 10")},
    "n = '\\ud800'": {"n": SourceText("'\\ud800'")},
    "n = len((1, 2)) + int(2.0)": {"n": 4},
}


@pytest.mark.parametrize(("source", "found"), READ.items())
def test_every_module_level_assignment_is_read_without_running_it(source, found):
    read = axes(source)
    assert read == found
    kinds = {name: isinstance(value, SourceText) for name, value in read.items()}
    assert kinds == {name: isinstance(value, SourceText) for name, value in found.items()}


# source, the values asked for, and what running the rewritten source must leave
REWRITTEN = [
    ("N = 4", {"N": 7}, {"N": 7}),
    ("N = 2 * 2\nM = N * 2", {"N": 7}, {"N": 7, "M": 14}),
    ("N: int = 4", {"N": 7}, {"N": 7}),
    ("a, b = 1, 2", {"a": 7}, {"a": 7, "b": 2}),
    ("a, b = 1, 2", {"a": 7, "b": 8}, {"a": 7, "b": 8}),
    ("[a, (b, c)] = [1, (2, 3)]", {"c": 7}, {"a": 1, "b": 2, "c": 7}),
    ("a, b = divmod(9, 4)", {"b": 7}, {"a": 2, "b": 7}),
    ("a, *b = 1, 2, 3", {"a": 7}, {"a": 7, "b": [2, 3]}),
    ("a = b = 4", {"a": 7}, {"a": 7, "b": 4}),
    ("a = b = 4", {"b": 7}, {"a": 4, "b": 7}),
    ("a = b = 4", {"a": 7, "b": 8}, {"a": 7, "b": 8}),
    ("a = b = c = 4\nd = a + b + c", {"b": 7}, {"a": 4, "b": 7, "c": 4, "d": 15}),
    ("pair = a, b = 1, 2", {"a": 7}, {"pair": (1, 2), "a": 7, "b": 2}),
    ("pair = a, b = 1, 2", {"pair": 5}, {"pair": 5, "a": 1, "b": 2}),
    ("if 1 > 0:\n    n = 1\nelse:\n    n = 2\nm = n + 1", {"n": 7}, {"n": 7, "m": 8}),
    ("if 1 < 0:\n    n = 1\nelif 1:\n    n = 2", {"n": 7}, {"n": 7}),
    ("try:\n    n = 1 / 0\nexcept ZeroDivisionError:\n    n = 2", {"n": 7}, {"n": 7}),
    ("for n in ():\n    pass\nelse:\n    k = 3", {"k": 7}, {"k": 7}),
    ("n = 4\nn *= 2\nm = n", {"n": 7}, {"n": 7, "m": 7}),
    ("n = (m := 3) + 1", {"m": 7}, {"m": 7, "n": 8}),
    ("n = 4\ndef f():\n    n = 1\n    return n\nm = f()", {"n": 7}, {"n": 7, "m": 1}),
    ("shape = (4, 4)\nn = shape[0]", {"shape": (7,)}, {"shape": (7,), "n": 7}),
    ("sizes = [4]", {"sizes": [7, 8]}, {"sizes": [7, 8]}),
    ("n = int('no number')", {"n": 7}, {"n": 7}),
    ("d = -1", {"d": -2}, {"d": -2}),
    ("flag, name, eps = True, 'a', 0.5", {"flag": False, "name": "b", "eps": 1e-6},
     {"flag": False, "name": "b", "eps": 1e-6}),
]  # fmt: skip


@pytest.mark.parametrize(("source", "values", "left"), REWRITTEN)
def test_rewriting_reaches_every_form_of_assignment_and_what_derives_from_it(source, values, left):
    namespace = {}
    exec(rewrite(source, values), namespace)
    found = {name: namespace[name] for name in left}
    assert found == left
    assert {name: type(value) for name, value in found.items()} == {
        name: type(value) for name, value in left.items()
    }


def test_without_values_the_text_stays_as_it_is():
    source = "N = 4   # with its comment\n"
    assert rewrite(source, {}) is source


@given(st.dictionaries(st.sampled_from("abcd"), st.integers(-(2**53), 2**53)))
def test_what_was_asked_for_is_what_axes_reads_back(values):
    source = "a = 1\nb = c = a + 1\nif a:\n    d = 2\nelse:\n    d = 3\n"
    read = axes(rewrite(source, values))
    assert {name: read[name] for name in values} == values


@pytest.mark.parametrize("source", ["class", "a = \x00", "(" * 300, "f(**{'a'})=1", "-" * 200_000])
def test_whatever_the_parser_says_of_no_python_is_a_syntax_error(source):
    with pytest.raises(SyntaxError):
        parse(source)


def test_an_odd_escape_is_no_warning():
    assert isinstance(parse("pattern = '\\d'"), ast.Module)
