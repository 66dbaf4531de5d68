"""Every Triton kernel is compiled for devices that this machine need not have."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pytest
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tests.solutions.loading import every_solution, solution

SHARED_BYTES = {80: 163 * 1024, 90: 227 * 1024}  # a block's most, by compute capability


@dataclass(frozen=True)
class Launch:
    """One launch as the solution makes it at realistic sizes."""

    number: str
    stem: str
    kernel: str
    pointers: dict[str, str]
    sizes: tuple[str, ...]
    constants: dict[str, object]
    options: dict[str, int]
    divisible: bool = True
    in_ptx: tuple[str, ...] = field(default=("st.global",))

    def __str__(self):
        return f"{self.number}-{self.kernel}-{'full' if self.divisible else 'odd'}"


FLOATS = {"x": "*fp32", "y": "*fp32"}
CONVOLUTION = {
    "number": "87",
    "stem": "triton_tf32",
    "kernel": "pointwise_conv",
    "pointers": FLOATS | {"weight": "*fp32", "bias": "*fp32"},
    "sizes": ("pixels", "tiles", "in_channels", "out_channels"),
}
TILES = {"PIXELS": 128, "ROWS": 32, "PRECISION": "tf32"}
LAUNCHES = [
    Launch(
        **CONVOLUTION,
        constants=TILES | {"HAS_BIAS": False, "ONE_CHUNK": True, "CHUNK": 64},
        options={"num_warps": 4, "num_stages": 2, "maxnreg": 128},
        in_ptx=("st.global.cs.v4", "L2::cache_hint.v4", "L2::evict_last", ".maxnreg 128", "tf32"),
    ),
    Launch(
        **CONVOLUTION,
        options={"num_warps": 4, "num_stages": 2},
        constants=TILES | {"HAS_BIAS": True, "ONE_CHUNK": False, "CHUNK": 64},
        divisible=False,
        in_ptx=("st.global.cs", "tf32"),
    ),
    Launch(
        "1",
        "triton_tf32",
        "matmul",
        {"a": "*fp32", "b": "*fp32", "c": "*fp32"},
        ("M", "N", "K"),
        {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32, "GROUP": 8, "PRECISION": "tf32"},
        {"num_warps": 8, "num_stages": 3},
        in_ptx=("tf32",),
    ),
    Launch(
        "23",
        "triton_fp32",
        "softmax",
        FLOATS,
        ("rows", "columns"),
        {"ONE_TILE": False, "ROWS": 1, "COLUMNS": 8192},
        {"num_warps": 8},
        in_ptx=("st.global.cs.v4",),
    ),
    Launch(
        "23",
        "triton_fp32",
        "softmax",
        FLOATS,
        ("rows", "columns"),
        {"ONE_TILE": True, "ROWS": 1, "COLUMNS": 1024},
        {"num_warps": 8},
        divisible=False,
    ),
    Launch(
        "95",
        "triton_fp32",
        "row_losses",
        {"scores": "*fp32", "labels": "*i64", "losses": "*fp32"},
        ("rows", "classes"),
        {"ROWS": 1, "COLUMNS": 4096},
        {"num_warps": 4},
    ),
    Launch(
        "95",
        "triton_fp32",
        "mean_loss",
        {"losses": "*fp32", "labels": "*i64", "mean": "*fp32"},
        ("rows",),
        {"BLOCK": 4096},
        {"num_warps": 16},
    ),
    Launch(
        "93",
        "triton_fp32",
        "masked_cumsum",
        FLOATS | {"mask": "*u8"},
        ("rows", "columns"),
        {"ROWS": 1, "COLUMNS": 2048},
        {"num_warps": 4},
        in_ptx=("st.global.cs.v4",),
    ),
]


def compiled(launch: Launch, capability: int):
    kernel = getattr(solution(launch.number, launch.stem), launch.kernel)
    signature = launch.pointers | dict.fromkeys(launch.sizes, "i32")
    signature |= dict.fromkeys(launch.constants, "constexpr")
    names = kernel.arg_names
    assert set(signature) == set(names)
    aligned = [*launch.pointers, *(launch.sizes if launch.divisible else ())]
    source = ASTSource(
        fn=kernel,
        signature={name: signature[name] for name in names},
        constexprs=launch.constants,
        attrs={(names.index(name),): [["tt.divisibility", 16]] for name in aligned},
    )
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options=launch.options)


@pytest.mark.parametrize("capability", sorted(SHARED_BYTES))
@pytest.mark.parametrize("launch", LAUNCHES, ids=str)
def test_every_kernel_compiles_for_the_device_and_fits_it(launch, capability):
    built = compiled(launch, capability)
    ptx = built.asm["ptx"]
    assert f".target sm_{capability}" in ptx
    assert len(built.asm["cubin"]) > 0
    assert built.metadata.shared <= SHARED_BYTES[capability]
    for instruction in launch.in_ptx:
        assert instruction in ptx


@pytest.mark.parametrize("launch", LAUNCHES, ids=str)
def test_tiles_are_addressed_with_64_bit_offsets(launch):
    # 32 bits end at 2^31 elements, which problem 87's full output reaches exactly.
    text = compiled(launch, 90).asm["ttir"]
    tiles = re.findall(r"tt\.addptr .*: tensor<\d+x\d+x!tt\.ptr<\w+>>, tensor<\d+x\d+x(\w+)>", text)
    assert tiles or launch.kernel == "mean_loss"
    steps = {"i32"} if launch.kernel == "matmul" else set()  # from one tile along K to the next
    assert set(tiles) - steps <= {"i64"}


def test_every_kernel_of_every_triton_solution_is_compiled_here():
    covered = {(launch.number, launch.kernel) for launch in LAUNCHES}
    for number, stem in every_solution():
        if not stem.startswith("triton"):
            continue
        module = solution(number, stem)
        text = module.__loader__.get_source(module.__name__)
        kernels = [key for key, value in vars(module).items() if type(value) is triton.JITFunction]
        launched = {name for name in kernels if f"{name}[" in text}
        assert launched
        assert {(number, name) for name in launched} <= covered
