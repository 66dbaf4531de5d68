"""What is slow to make and shared by several modules: one finished run in a checkout of its own."""

import pytest

from tests.processes import checkout, run_eval

SMOKE = ("--device", "cpu", "--size", "smoke", "-o", "checks=1")


@pytest.fixture(scope="session")
def copy(tmp_path_factory):
    """A checkout of the tests' own, whose results folder nobody else uses."""
    return checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="session")
def finished(copy):
    """The main job at its smoke size: (exit status, stdout, stderr)."""
    arguments = ("run", "--problem", "1/87", *SMOKE, "--trials", "10", "--json", "--strict")
    return run_eval(*arguments, root=copy)
