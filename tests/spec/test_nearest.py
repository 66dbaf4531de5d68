from __future__ import annotations

from harness.spec.nearest import nearest, shown


def test_the_nearest_name_comes_first_then_all():
    assert nearest("heigth", ["width", "height"]) == "did you mean 'height'? valid: width, height"


def test_case_does_not_hide_a_name():
    assert nearest("h100 sxm", ["H200", "H100 SXM"]).startswith("did you mean 'H100 SXM'?")


def test_nothing_near_lists_what_there_is_and_no_more_than_fits():
    assert nearest("zzz", ["a", "b"]) == "valid: a, b"
    assert nearest("zzz", []) == "there are none here"
    assert nearest("zzz", map(str, range(20))).endswith("10, 11 and 8 more")


def test_a_found_value_fits_on_a_line():
    assert shown("no") == "'no'"
    assert shown(None) == "nothing"
    assert len(shown("x" * 1000)) == 80
