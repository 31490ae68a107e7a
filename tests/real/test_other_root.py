"""The live host seen through another root, as from a container that has it mounted at /host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.faults.zombies import in_use, tracked, why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
PROGRAM = Path(sys.executable).with_name("necroscope")
# In a mount namespace of its own, so that the mounts end with it.
MOUNT = """set -e
mount --bind / "$0"
for name in proc sys dev; do mount --rbind "/$name" "$0/$name"; done
exec "$@"
"""


def test_a_live_host_below_another_root_is_looked_at_over_time(tmp_path: Path) -> None:
    command = ["unshare", "--mount", "sh", "-c", MOUNT, str(tmp_path), str(PROGRAM)]
    done = subprocess.run(
        [*command, "doctor", "-d", "3s", "--json", "--root", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    body = json.loads(done.stdout)
    assert body["seconds"] == pytest.approx(3, abs=0.5)
    assert body["host"]["hostname"] == os.uname().nodename
    assert {"core-saturated", "zombie-memory-cgroups", "nic-reset"} <= set(body["checked"])
    seen = {fact["name"]: fact["value"] for fact in body["seen"]}
    counted = int(seen["cgroups, memory (v1)"].split(" ")[0].replace(",", ""))
    assert abs(counted - tracked()) <= 50 and in_use() > 0
