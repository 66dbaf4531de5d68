from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest
import torch
import yaml

from tests.solutions.loading import NUMBERS, PROBLEMS, SOLUTIONS, every_solution, problem, solution

# KernelBench's own names and values: imported figures are only comparable at these.
AXES = {
    "1": {"N": 4096},
    "23": {"batch_size": 4096, "dim": 393216},
    "87": {
        "batch_size": 16,
        "in_channels": 64,
        "out_channels": 128,
        "width": 1024,
        "height": 1024,
    },
    "93": {"batch_size": 32768, "input_shape": (32768,), "dim": 1},
    "95": {"batch_size": 32768, "num_classes": 4096, "input_shape": (4096,), "dim": 1},
}
SIDECAR_KEYS = {"title", "family", "semantics_version", "sizes", "tensors", "license", "source"}


def sidecar(number):
    return yaml.safe_load((PROBLEMS / f"{NUMBERS[number]}.yaml").read_text())


def resized(number, axes):
    """The problem at other axes, the way `--set` does it: assignments rewritten in the tree."""
    tree = ast.parse((PROBLEMS / f"{NUMBERS[number]}.py").read_text())
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and statement.targets[0].id in axes:
            statement.value = ast.Constant(axes[statement.targets[0].id])
    namespace = {"__name__": "resized"}
    exec(compile(ast.fix_missing_locations(tree), "resized", "exec"), namespace)
    return namespace


def smoke(number):
    return resized(number, sidecar(number)["sizes"]["smoke"]["axes"])


@pytest.mark.parametrize("number", AXES)
def test_axes_are_kernelbenchs_own(number):
    module = problem(number)
    declared = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, int | tuple) and not name.startswith("_")
    }
    assert declared == AXES[number]


@pytest.mark.parametrize("number", AXES)
def test_sidecars_hold_the_agreed_keys_and_name_real_axes(number):
    held = sidecar(number)
    assert set(held) == SIDECAR_KEYS
    for size in held["sizes"].values():
        assert set(size) == {"axes", "init"}
        assert set(size["axes"]) <= set(AXES[number])


@pytest.mark.parametrize("number", AXES)
def test_declared_tensors_are_the_ones_that_the_problem_makes(number):
    module, tensors = smoke(number), sidecar(number)["tensors"]
    inputs = module["get_inputs"]()
    output = module["Model"](*module["get_init_inputs"]())(*inputs)
    real = [*zip(tensors["inputs"], inputs, strict=True), (tensors["outputs"][0], output)]
    for declared, tensor in real:
        shape = [eval(axis, dict(module)) for axis in declared["shape"]]
        assert shape == list(tensor.shape)
        assert declared["dtype"] == str(tensor.dtype).removeprefix("torch.")


def test_smoke_of_87_stays_small():
    assert smoke("87")["get_inputs"]()[0].shape == (2, 64, 32, 32)


@pytest.mark.parametrize(("number", "stem"), every_solution())
def test_every_solution_says_where_it_comes_from(number, stem):
    held = yaml.safe_load((SOLUTIONS / NUMBERS[number] / f"{stem}.yaml").read_text())
    assert held["backend"] == stem.split("_")[0]
    assert (held["license"], held["author"]) == ("MIT", "kernel-eval-harness")
    assert held["claims"]["class"] in {"fp32", "tf32"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inductor's own imports, torch 2.13
@pytest.mark.parametrize(("number", "stem"), every_solution())
def test_parameters_are_named_and_drawn_as_the_references(number, stem):
    module, tried = smoke(number), solution(number, stem)
    for extra in [], [True] if number == "87" else []:
        init = [*module["get_init_inputs"](), *extra]
        torch.manual_seed(1)
        wanted = module["Model"](*init).state_dict()
        torch.manual_seed(1)
        found = tried.ModelNew(*init).state_dict()
        assert list(found) == list(wanted)
        assert all(torch.equal(found[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize("number", AXES)
def test_eager_is_the_reference_bit_for_bit(number):
    module, tried = smoke(number), solution(number, "eager")
    inputs, init = module["get_inputs"](), module["get_init_inputs"]()
    reference, eager = module["Model"](*init), tried.ModelNew(*init)
    eager.load_state_dict(reference.state_dict())
    assert torch.equal(eager(*inputs), reference(*inputs))


def test_the_inductor_solution_is_compiled_and_follows_its_parameters(tmp_path):
    # Compiling `nn.Conv2d` in place compiles nothing: the frames of torch.nn are skipped.
    text = """
import torch
from tests.solutions.loading import solution
torch.set_grad_enabled(False)
net = solution("87", "inductor").ModelNew(64, 128, True)
x = torch.rand(2, 64, 32, 32)
for _ in range(2):
    assert torch.allclose(net(x), net.conv1d(x), atol=1e-5)
    net.conv1d.weight.normal_()
assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
"""
    ended = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        cwd=PROBLEMS.parents[1],
        env=os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path)},
    )
    assert ended.returncode == 0, ended.stderr
