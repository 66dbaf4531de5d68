from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from harness.faults import UsageError
from harness.spec import strict_yaml

SURPRISES = {
    "1e3": 1000.0,
    "1e-3": 0.001,
    "12:30": "12:30",
    "no": "no",
    "off": "off",
    "True": "True",
    "010": "010",
    "0o10": "0o10",
    "0x10": "0x10",
    "1_000": "1_000",
    ".nan": ".nan",
    ".inf": ".inf",
    "2026-03-05": "2026-03-05",
    "-7": -7,
    "+7": 7,
    ".5": 0.5,
    "5.": 5.0,
    "true": True,
    "null": None,
    "~": None,
    "": None,
    "'1'": "1",
    "=": "=",
    "<<": "<<",
}


@pytest.mark.parametrize(("text", "value"), SURPRISES.items())
def test_a_plain_scalar_means_what_it_looks_like(text, value):
    found = strict_yaml.load(f"key: {text}", "x.yaml")["key"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &b 1", "line 1, column 4: found the anchor &b"),
        ("a: 1\nc: *b", "line 2, column 4: found the alias *b"),
        ("a: !!python/object:os.system 1", "found the tag"),
        ("a: !x 1", "found the tag !x"),
        ("a: 1\nb: 2\na: 3", "line 3, column 1: found the key 'a' twice"),
        ("1: a", "found the key 1; wanted keys that are text"),
        ("[a]: b", "found the key ['a']; wanted keys that are text"),
        ("a: 1\n---\nb: 2", "found a second document"),
        ("a: [1", "x.yaml: line 1, column 6: found expected ',' or ']'"),
        ("a: b: c", "line 1, column 5: found mapping values are not allowed here"),
        ("a: 1e999", "found '1e999'; wanted a number that can be held"),
        ("a: " + "9" * 5000, "wanted a number that can be held"),
        ('a: "\\ud800"', "half of a surrogate pair"),
        ('a: "\\UFFFFFFFF"', "found an impossible escape"),
        ("a: \x00", "unacceptable character"),
        ("[" * 40 + "]" * 40, "at most 30 levels"),
        ("[" * 5000, "at most 30 levels"),
        ("[" + "1," * 20_000 + "]", "at most 30 levels and 10,000 values"),
        ("a: @", "cannot start any token"),
    ],
)
def test_what_is_odd_is_refused_in_one_line_with_its_place(text, said):
    with pytest.raises(UsageError) as refused:
        strict_yaml.load(text, "x.yaml")
    line = str(refused.value)
    assert line.startswith("x.yaml")
    assert said in line
    assert "\n" not in line


@given(st.text(max_size=60))
def test_any_text_is_plain_data_or_a_usage_error(text):
    refusal = ""
    try:
        strict_yaml.load(text, "x.yaml")
    except UsageError as refused:
        refusal = str(refused)
    assert "\n" not in refusal


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), PLAIN, max_size=5))
def test_what_is_written_reads_back(value):
    assert strict_yaml.load(strict_yaml.dump(value), "x.yaml") == value


def test_what_is_written_other_readers_understand():
    value = {"problems": ["1/87"], "out": "no", "deadlines_s": {"load": 60.5}, "device": "cuda:0"}
    written = strict_yaml.dump(value)
    assert yaml.safe_load(written.replace("no", "yes and no")) == {**value, "out": "yes and no"}
    assert "device: cuda:0\n" in written


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "found no such file or directory; wanted a readable file"),
        (b"\xff\xfe", "found byte 0; wanted text in UTF-8"),
        (b"", "found nothing; wanted a mapping"),
        (b"- a", "found a list; wanted a mapping"),
        (b"7", "found 7; wanted a mapping"),
    ],
)
def test_a_file_that_is_no_mapping_is_refused(tmp_path, content, said):
    path = tmp_path / "c.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError) as refused:
        strict_yaml.load_mapping(path, "c.yaml")
    assert str(refused.value).startswith(f"c.yaml: {said}")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(UsageError, match="found a folder; wanted a readable file"):
        strict_yaml.load_mapping(tmp_path)
