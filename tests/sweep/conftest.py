import pytest

from tests.spec.conftest import CONVOLUTION, SIDECAR

ANY = "import torch\nclass ModelNew: pass\n"


@pytest.fixture
def root(tmp_path):
    """A repository: 7 has a smoke size and two solutions, 8 one without eager, 9 is no problem."""
    level = tmp_path / "problems" / "level1"
    level.mkdir(parents=True)
    (level / "7_mixing.py").write_text(CONVOLUTION)
    (level / "7_mixing.yaml").write_text(SIDECAR)
    (level / "8_other.py").write_text(CONVOLUTION)
    (level / "9_broken.py").write_text("class Model(:\n")
    for name in ("7_mixing/eager", "7_mixing/fast", "8_other/fast"):
        path = tmp_path / "solutions" / "level1" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{ANY}# {name}\n")
    return tmp_path
