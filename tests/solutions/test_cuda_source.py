from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.solutions.loading import solution

HERE = Path(__file__).parent
FP32_NOISE = 1e-6  # the twin adds 8 products in fp64 and rounds once: about 6e-8 is left
needs_nvcc = pytest.mark.skipif(
    shutil.which("nvcc") is None, reason="nvcc is not on PATH: CUDA_SOURCE cannot be compiled here"
)
needs_gcc = pytest.mark.skipif(
    shutil.which("g++") is None, reason="g++ is not on PATH: the CPU twin cannot be built here"
)


def run_twin(text, folder, macros):
    source, library = folder / "source.cc", folder / "twin.so"
    source.write_text(text)
    compiler = ("g++", "-std=c++17", "-O1", "-w", "-shared", "-fPIC", f"-I{HERE / 'twin'}")
    subprocess.run([*compiler, *macros, "-o", library, source], check=True)
    command = [sys.executable, HERE / "run_twin.py", library]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module")
def cuda():
    return solution("87", "cuda_tf32")


@pytest.fixture
def extensions(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    return tmp_path


@needs_nvcc
@pytest.mark.parametrize("architecture", ["sm_80", "sm_89", "sm_90"])
def test_source_compiles_for_each_architecture_without_spills(cuda, architecture, tmp_path):
    source = tmp_path / "source.cu"
    source.write_text(cuda.CUDA_SOURCE)
    ended = subprocess.run(
        [
            *("nvcc", "-O3", "-std=c++17", f"-arch={architecture}", "-Xptxas", "-v"),
            *("-cubin", "-o", tmp_path / "out.cubin", source),
        ],
        capture_output=True,
        text=True,
    )
    report = ended.stdout + ended.stderr
    assert ended.returncode == 0, report
    assert "warning" not in report
    spills = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores", report)
    assert len(spills) == 2  # two kernels: the pipelined and the general one
    assert set(spills) == {("0", "0")}


@needs_gcc
@pytest.mark.parametrize(
    "macros", [(), ("-DTILE=32", "-DDEEP=5"), ("-DTILE=128",)], ids=["default", "small", "large"]
)
def test_every_index_pipeline_and_tail_is_right_on_the_cpu_twin(cuda, macros, tmp_path):
    ended = run_twin(cuda.CUDA_SOURCE, tmp_path, macros)
    assert ended.returncode == 0, ended.stderr
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(rows) > 10
    for row in rows:
        assert (row["status"], row["guard_kept"]) == (0, True), row
        assert row["error"] is not None, row
        assert row["error"] < FP32_NOISE, row


@needs_gcc
@pytest.mark.parametrize(
    ("found", "broken"),
    [
        ("wait_for_groups<DEEP - 2>();", ""),
        ("(lane / 8 + lane / 4 % 2 * 4) * 4", "lane / 4 * 4"),
        ("if (column < pixels_left)", ""),
        ("stage = (stage + 1) % DEEP;", ""),
        ("__syncwarp();  // all lanes have staged theirs", ""),
        ("__syncwarp();  // and nobody overwrites what another still reads", ""),
    ],
    ids=["no wait", "wrong pixel", "no tail", "stuck stage", "early read", "early write"],
)
def test_the_twin_notices_a_broken_kernel(cuda, found, broken, tmp_path):
    assert cuda.CUDA_SOURCE.count(found) == 1
    ended = run_twin(cuda.CUDA_SOURCE.replace(found, broken), tmp_path, ())
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    right = [row["error"] is not None and row["error"] < FP32_NOISE for row in rows]
    kept = [row["guard_kept"] for row in rows]
    assert ended.returncode != 0 or not all(right) or not all(kept)


@needs_nvcc
def test_a_library_is_built_once_and_leaves_nothing_else_behind(cuda, extensions):
    source = 'extern "C" int answer() { return 42; }'
    first = cuda.build(source, ())
    written = first.stat().st_mtime_ns
    assert cuda.build(source, ()) == first
    assert first.stat().st_mtime_ns == written
    assert [path for path in extensions.rglob("*") if path.is_file()] == [first]
    assert cuda.build(source, ("-DOTHER",)) != first


@needs_nvcc
def test_a_failed_build_raises_with_the_compilers_own_words(cuda, extensions):
    with pytest.raises(RuntimeError, match="no_such_name"):
        cuda.build("int broken() { return no_such_name; }", ())
    assert [path for path in extensions.rglob("*") if path.is_file()] == []


@needs_nvcc
def test_a_launch_that_fails_gives_an_error_that_can_be_explained(cuda, extensions):
    library = cuda.library.__wrapped__((9, 0))
    # A grid of no blocks is refused by a device; without one, the driver is.
    status = library.pointwise_conv(None, None, None, None, 0, 64, 128, 4, 0, None)
    assert status != 0
    assert library.explain(status).decode()


def test_tensors_off_the_gpu_are_refused_in_words(cuda):
    with pytest.raises(TypeError, match=r"found torch\.float32 on cpu"):
        cuda.pointwise(torch.zeros(1, 1, 1, 1), torch.zeros(1, 1, 1, 1), None)
