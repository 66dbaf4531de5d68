"""The same rules on a CUDA device: what passes, what is caught, that the next is unharmed."""

import shutil
import textwrap

import pytest
import torch

from harness import api
from tests.judge.conftest import AFFINE, Bench
from tests.judge.test_statuses import HEAD, RIGHT, constructor, forward, top

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


@pytest.fixture(scope="module")
def gpu(tmp_path_factory):
    deadlines = {"load": 60, "build": 200, "prepare": 60, "check": 60, "time": 60}
    with api.open(device="cuda", trials=10, checks=4, deadlines_s=deadlines) as judge:
        yield Bench(judge, tmp_path_factory.mktemp("solutions"))


TRITON_WRITE = """
import triton
import triton.language as tl

@triton.jit
def store(p):
    tl.store(p, 1.0)
"""
GRAPH = """
class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layer = nn.Linear(features, features)
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            self.held = x.clone()
            for _ in range(2):
                self.layer(self.held)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = self.layer(self.held)
        self.held.copy_(x)
        self.graph.replay()
        return self.out
"""
STALE_GRAPH = GRAPH.replace("        self.held.copy_(x)\n", "")
JOINED = """
s = torch.cuda.Stream()
s.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(s):
    z = self.layer(x)
torch.cuda.current_stream().wait_stream(s)
return z
"""
SIDE = """
self.s = torch.cuda.Stream()
with torch.cuda.stream(self.s):
    torch.cuda._sleep(20_000_000)
    z = self.layer(x)
return z
"""
LEFT_STREAM = """
s = torch.cuda.Stream()
s.wait_stream(torch.cuda.current_stream())
torch.cuda.set_stream(s)
torch.cuda._sleep(20_000_000)
return self.layer(x)
"""
BAD_TRITON = """
import triton
import triton.language as tl

@triton.jit
def broken(p, N: tl.constexpr):
    tl.store(p + tl.arange(0, N), undefined_name)
"""
# name: source, (status, reason)
TABLE = {
    "right": (HEAD + RIGHT, ("passed", None)),
    "a graph that follows its inputs": (HEAD + GRAPH, ("passed", None)),
    "a graph that keeps its first inputs": (HEAD + STALE_GRAPH,
                                            ("incorrect_numerical", "outside_budget")),
    "two streams that are joined": (forward(JOINED), ("passed", None)),
    "work on a stream that is not joined": (
        forward(SIDE), ("incomplete_evidence", "clocks_disagree")),
    "a stream left as the current one": (
        forward(LEFT_STREAM), ("incomplete_evidence", "clocks_disagree")),
    "a CPU tensor": (forward("return y.cpu()"), ("incorrect_dtype", "wrong_device")),
    "bf16 operands": (
        forward("return (x.bfloat16() @ self.layer.weight.bfloat16().t() + "
                "self.layer.bias.bfloat16()).float()"),
        ("incorrect_numerical", "outside_budget")),
    "writes its input": (
        HEAD + TRITON_WRITE + RIGHT.replace("return self.layer(x)",
                                            "store[(1,)](x); return self.layer(x)"),
        ("runtime_error", "exception")),
    "more memory than there is": (
        forward("torch.empty(1 << 45, device=x.device)"), ("resource_exceeded", "out_of_memory")),
    "a device assert": (
        forward("return y[:, torch.full((64,), 10**6, device=x.device)]"),
        ("runtime_error", "exception")),
    "Triton that does not compile": (
        HEAD + BAD_TRITON + RIGHT.replace("return self.layer(x)",
                                          "broken[(1,)](x, 32); return self.layer(x)"),
        ("compile_error", "build_failed")),
    "a forged device time": (
        top("""
        from harness import wire
        original = wire.send
        def forged(sock, message, fds=()):
            if "device_ms" in message:
                message["device_ms"] = 0.001
            original(sock, message, fds)
        wire.send = forged
        """).replace("return self.layer(x)",
                     "torch.cuda._sleep(40_000_000); return self.layer(x)"),
        ("incomplete_evidence", "clocks_disagree")),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_each_kind_has_its_verdict_and_the_next_one_passes(gpu, name):
    source, expected = TABLE[name]
    verdict = gpu.evaluate(source).verdict
    assert (verdict.status.value, verdict.reason) == expected, verdict
    if expected[0] != "passed":
        assert gpu.evaluate(HEAD + RIGHT).verdict.status.value == "passed"


@pytest.mark.parametrize(
    ("problem", "solution"),
    [
        ("1/87", "inductor"),
        ("1/87", "triton_tf32"),
        ("1/87", "cuda_tf32"),
        ("1/1", "triton_tf32"),
        ("1/23", "triton_fp32"),
        ("1/93", "triton_fp32"),
        ("1/95", "triton_fp32"),
    ],
)
def test_the_repositorys_solutions_pass_at_smoke_size(problem, solution):
    with api.open(device="cuda", sizes=["smoke"], trials=10, checks=5) as judge:
        record = judge.evaluate(problem, solution)
    assert record.verdict.status.value == "passed", record.verdict
    assert record.precision.class_ in ("fp32", "tf32")
    assert record.timing.engine == "device"


LOAD_INLINE = textwrap.dedent('''
    import torch
    from torch import nn
    from torch.utils.cpp_extension import load_inline

    cuda = """
    #include <torch/extension.h>
    __global__ void add(const float* a, const float* b, float* c, int columns, int count) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < count) c[i] = a[i] + b[i % columns];
    }
    torch::Tensor add_bias(torch::Tensor a, torch::Tensor b) {
        auto c = torch::empty_like(a);
        int count = a.numel();
        add<<<(count + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(),
                                          c.data_ptr<float>(), b.numel(), count);
        return c;
    }
    """
    module = load_inline(name="add_bias", cpp_sources=
                         "torch::Tensor add_bias(torch::Tensor a, torch::Tensor b);",
                         cuda_sources=cuda, functions=["add_bias"])


    class ModelNew(nn.Module):
        def __init__(self, features):
            super().__init__()
            self.layer = nn.Linear(features, features)

        def forward(self, x):
            return module.add_bias(torch.matmul(x, self.layer.weight.t()), self.layer.bias)
''')


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")
def test_a_kernelbench_solution_that_builds_with_load_inline_passes(gpu):
    """KernelBench's own form: torch's headers, built at import, 40 to 90 s the first time."""
    assert gpu.judge is not None
    with api.open(device="cuda", trials=5, checks=3, deadlines_s={"load": 240}) as judge:
        record = Bench(judge, gpu.folder).evaluate(LOAD_INLINE, AFFINE)
    assert record.verdict.status.value == "passed", record.verdict


def test_constructor_work_and_a_slow_first_call_are_not_timed(gpu):
    source = (
        constructor("import time; time.sleep(1)")
        .replace(
            "return self.layer(x)",
            "first = not hasattr(self, 'seen'); self.seen = 1\n"
            "        time.sleep(1) if first else None\n        return self.layer(x)",
        )
        .replace("import torch\n", "import time\nimport torch\n", 1)
    )
    record = gpu.evaluate(source)
    assert record.verdict.status.value == "passed", record.verdict
    assert record.timing.build_s > 0.9
    assert record.timing.prepare_s > 0.9
    assert max(record.timing.samples_ms) < 500
