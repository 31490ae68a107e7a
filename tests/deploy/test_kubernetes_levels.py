"""What the recorder sees at each level of privilege, by the pod's own command with the pod's capabilities.

In namespaces for mounts and for the network as a pod has them, with the host's root mounted read-only. There
is no container: seccomp, the device cgroup and the image's file system are not part of it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from necroscope.sources.catalog import SOURCES
from necroscope.sources.host import Host
from tests.deploy.manifests import ALL_LEVELS, Level, pod_of
from tests.real.recorders import why_not

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts, and other users"),
    pytest.mark.skipif(bool(why_not()), reason=str(why_not())),
]
ROOT = Path(__file__).parents[2]
PYTHON = Path(sys.base_prefix)
# The kernel log is everybody's where kernel.dmesg_restrict is 0.
LOG_IS_ROOTS = Path("/proc/sys/kernel/dmesg_restrict").read_text().strip() != "0"
LOST = {
    "minimal": {"cgroup-ledger", *(("kernel-log",) if LOG_IS_ROOTS else ())},
    "perf": {"cgroup-ledger"},
    "full": set[str](),
}
TRACEPOINTS = "no lines of the kernel log among the samples"

# The recorder's user has to get at the interpreter, which may be in root's home.
MOUNTS = f"""
set -eu
mount --make-rprivate /
mount -t tmpfs tmpfs /mnt
mkdir /mnt/host /mnt/store /mnt/python
mount --bind {PYTHON} /mnt/python
mount --rbind / /mnt/host
mount --make-rslave /mnt/host
mount -o remount,bind,ro /mnt/host
folder=$(dirname {PYTHON})
while [ "$folder" != / ]; do
  case $(stat -c %A "$folder") in
    *x) ;;
    *) mount -t tmpfs -o mode=755 tmpfs "$folder"; mkdir -p {PYTHON}; mount --bind /mnt/python {PYTHON} ;;
  esac
  folder=$(dirname "$folder")
done
ip link set lo up
"""
FETCH = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:9464/metrics').read().decode())"
INNER = f"""
cat /proc/self/status
{{python}} -m necroscope {{arguments}} &
sleep 8
{{python}} -c {shlex.quote(FETCH)}
kill -INT $!
wait $! || true
"""


@dataclass(frozen=True)
class Seen:
    """What came out of a recorder at a level."""

    status: dict[str, str]  # /proc/PID/status of its process
    up: set[str]  # sources
    answer: dict[str, Any]


def record_at(level: Level) -> Seen:
    container = pod_of(level)["containers"][0]
    security = container["securityContext"]
    kept = ",+".join(("-all", *(name.lower() for name in security["capabilities"].get("add", ()))))
    user = [f"--reuid={security['runAsUser']}", f"--regid={security['runAsGroup']}", "--clear-groups"]
    outer = ["setpriv", *user, f"--bounding-set={kept}", "--inh-caps=-all", "--no-new-privs"]
    words = [
        word
        for word in container["args"]
        if not word.startswith(("--listen", "--config", "--kubernetes", "--heartbeat"))
    ]
    arguments = [
        *(
            word.replace("=/host", "=/mnt/host").replace("=/var/lib/necroscope", "=/mnt/store")
            for word in words
        ),
        *("--segment=4s", "--listen=127.0.0.1:9464", "--json"),
    ]
    inner = INNER.format(python=shlex.quote(sys.executable), arguments=shlex.join(arguments))
    *lead, program = container["command"]
    assert program == "necroscope"
    own = f"chown {level.owner}:{level.owner} /mnt/store\n"
    script = MOUNTS + own + "exec " + shlex.join([*outer, *lead, "sh", "-c", inner])
    command = ["unshare", "--mount", "--net", "sh", "-c", script]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/"}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=90, env=environment)
    assert ran.returncode == 0, ran.stdout[-500:] + ran.stderr
    status = dict(re.findall(r"^(\w+):\t(.*)$", ran.stdout, re.MULTILINE))
    up = set(re.findall(r'^necroscope_source_up\{source="([^"]+)",reason=""\} 1$', ran.stdout, re.MULTILINE))
    answer = json.loads(ran.stdout[ran.stdout.index("\n{") :])
    return Seen(status, up, answer)


@pytest.fixture(scope="module", params=ALL_LEVELS, ids=lambda level: level.name)
def level(request: pytest.FixtureRequest) -> Level:
    level: Level = request.param
    return level


@pytest.fixture(scope="module")
def seen(level: Level) -> Seen:
    return record_at(level)


def test_the_recorder_runs_as_the_level_says(level: Level, seen: Seen) -> None:
    assert seen.status["Uid"].split()[0] == str(level.owner)
    numbers = {"DAC_READ_SEARCH": 2, "SYS_PTRACE": 19, "SYSLOG": 34, "PERFMON": 38}
    effective = sum(1 << numbers[name] for name in level.capabilities)
    assert int(seen.status["CapEff"], 16) == effective
    assert seen.status["NoNewPrivs"] == "1"


def test_it_sees_what_the_page_says(level: Level, seen: Seen) -> None:
    to_root = {source.id for source in SOURCES if source.open(Host())().absence is None}
    lost = to_root - seen.up - {"nic-counters"}
    assert lost == LOST[level.name] & to_root
    assert "nic-counters" not in seen.up, "they are those of the pod's own network"


def test_samples_and_tracepoints(level: Level, seen: Seen) -> None:
    paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if level.has_samples and paranoid > 2:
        pytest.skip(f"kernel.perf_event_paranoid is {paranoid}: CAP_PERFMON is not enough")
    assert bool(seen.answer["profiling"]) == level.has_samples
    assert seen.answer["profiling_error"] == seen.answer["store_error"] == ""
    if level.has_samples:
        assert (TRACEPOINTS in seen.answer["left_out"]) != level.has_tracefs
