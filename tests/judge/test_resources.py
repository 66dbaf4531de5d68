"""Too little memory and missing devices are never called incorrect."""

import shutil

import pytest

from harness import api
from harness.sandbox import builds
from tests.judge.test_statuses import HEAD, RIGHT

CUDA = HEAD + RIGHT + '\nCUDA_SOURCE = r"""{source}"""\n'
KERNEL = 'extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }'


def test_a_size_that_does_not_fit_says_what_it_needs_and_what_is_free(tmp_path):
    path = tmp_path / "solution.py"
    path.write_text(HEAD + RIGHT)
    options = {"device": "cpu", "axes": {"height": 2**20}, "sizes": ["full"], "trials": 2}
    with api.open(**{("set" if k == "axes" else k): v for k, v in options.items()}) as judge:
        record = judge.evaluate("1/87", path)
    assert record.verdict.status.value == "resource_exceeded"
    assert record.verdict.reason == "too_little_memory"
    assert record.verdict.evidence["needed_bytes"] > record.verdict.evidence["free_bytes"]
    assert record.resources.needed_bytes == record.verdict.evidence["needed_bytes"]


def test_cuda_is_unavailable_on_a_cpu(bench):
    assert bench.outcome(CUDA.format(source=KERNEL)) == ("unavailable", "load", "no_cuda_device")


@pytest.mark.skipif(builds.nvcc() is None, reason="no nvcc: nothing compiles CUDA here")
@pytest.mark.parametrize(("source", "ok"), [(KERNEL, True), ("not C++ at all", False)])
def test_where_nvcc_is_the_outcome_of_compiling_is_in_the_evidence(bench, source, ok):
    evidence = bench.evaluate(CUDA.format(source=source)).verdict.evidence
    assert evidence["nvcc"] == builds.nvcc()
    assert set(evidence["compiled"]) == set(builds.ARCHITECTURES)
    assert all(one is ok for one in evidence["compiled"].values())
    assert ok or "error" in str(evidence["messages"])


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("CUDA_SOURCE = 'x'", "x"),
        ("A = CUDA_SOURCE = '''y'''", "y"),
        ("CUDA_SOURCE = f'{1}'", None),
        ("CUDA_SOURCE = 3", None),
        ("def f(:", None),
        ("raise SystemExit  # never run\nCUDA_SOURCE = 'z'", "z"),
    ],
)
def test_the_source_is_read_from_the_syntax_tree_and_never_run(source, found):
    assert builds.cuda_source(source) == found


@pytest.mark.skipif(shutil.which("sleep") is None, reason="no sleep command")
def test_a_compiler_that_hangs_is_ended(tmp_path):
    compiler = tmp_path / "nvcc"
    compiler.write_text("#!/bin/sh\nsleep 60\n")
    compiler.chmod(0o755)
    found = builds.compile_cuda("", str(compiler), 0.2)
    assert [one.ok for one in found] == [False, False]
    assert "no end within 0.2 s" in found[0].message
