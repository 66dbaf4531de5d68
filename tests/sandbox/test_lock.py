"""Two runs on one device take turns, and a dead owner lets go."""

import signal
import subprocess
import sys
import time
from pathlib import Path

from harness.sandbox.lock import device_lock

ROOT = Path(__file__).resolve().parents[2]
HOLD = """
import sys, time
sys.path.insert(0, {root!r})
from harness.sandbox.lock import device_lock
with device_lock({name!r}, print):
    print("held", flush=True)
    time.sleep(60)
"""


def holder(name):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD.format(root=str(ROOT), name=name)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_run_waits_and_goes_on_when_the_owner_is_killed():
    name = f"test-{time.monotonic_ns()}"
    with holder(name) as process:
        said = []

        def told(text):
            said.append(text)
            process.send_signal(signal.SIGKILL)

        with device_lock(name, told):
            assert said == [f"another run is measuring on {name}; waiting for it to end"]


def test_two_judges_of_one_process_do_not_wait_for_each_other():
    name = f"test-{time.monotonic_ns()}"
    said = []
    with device_lock(name, said.append), device_lock(name, said.append):
        assert said == []
    with holder(name) as process:
        process.kill()
