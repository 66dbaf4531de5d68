"""What a worker may use and what it is shown of its surroundings.

Owns the allow-list of the environment, the private folders and the resource limits; `layers` says
for the record which walls stand and which do not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

# What finding a compiler, the CUDA toolkit and the device takes; no user's key is ever in here.
ALLOWED = (
    "PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "CC", "CXX",
    "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "TRITON_LIBCUDA_PATH",
    "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE",
)  # fmt: skip
GIB = 1 << 30
LIMITS = {
    "CORE": 0,  # a crash must not fill the disk
    "FSIZE": 4 * GIB,  # one file: far above any build product, an end for a flooded log
    "NOFILE": 4096,
}


def server_environment(*, interpret: bool) -> dict[str, str]:
    """What must be set before torch and triton are imported."""
    found = {name: os.environ[name] for name in ALLOWED if name in os.environ}
    found["OPENBLAS_NUM_THREADS"] = "1"  # its threads would start at import and break the fork
    found["PYTHONDONTWRITEBYTECODE"] = "1"
    if interpret:
        found["TRITON_INTERPRET"] = "1"
    return found


def worker_environment(scratch: Path, *, interpret: bool) -> dict[str, str]:
    """A worker's whole environment: the allow-list, and caches in folders of its own."""
    found = server_environment(interpret=interpret)
    folders = {
        "HOME": "home",
        "TMPDIR": "tmp",
        "TRITON_CACHE_DIR": "triton",
        "TORCHINDUCTOR_CACHE_DIR": "inductor",
        "TORCH_EXTENSIONS_DIR": "extensions",
        "TORCH_HOME": "home",
        "CUDA_CACHE_PATH": "cuda",
        "XDG_CACHE_HOME": "home",
    }
    for name, folder in folders.items():
        path = scratch / folder
        path.mkdir(exist_ok=True)
        found[name] = str(path)
    found["USER"] = found["LOGNAME"] = "worker"  # inductor asks getpass for a name
    found["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # no pool of compilers that outlives the worker
    found["MAX_JOBS"] = str(os.cpu_count() or 1)
    return found


def layers() -> Mapping[str, bool]:
    """Each wall by name and whether it stands in this version, for `environment.isolation`."""
    return {
        "own_process": True,
        "own_session": True,
        "clean_environment": True,
        "isolated_interpreter": True,
        "private_caches": True,
        "read_only_inputs": True,
        "no_new_privileges": True,
        "resource_limits": True,
        "subreaper": True,
        "private_uid": False,
        "network_namespace": False,
        "mount_namespace": False,
        "pid_namespace": False,
    }
