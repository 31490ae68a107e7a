"""The image, built for real and run as the DaemonSet runs it: what each level sees of the machine."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.image_build import UnfitError, Workshop, why_not
from tests.deploy.pod_in_podman import command, options, pod_of, runtime_default
from tests.real.recorders import ask

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(why_not() is not None, reason=f"no image can be built here: {why_not()}"),
]
IMAGE = "localhost/necroscope:test"
SMALL_BYTES = 300 << 20
BURN = "import os, time\nend = time.time() + 60\nwhile time.time() < end: os.stat('/proc/self/status')"
SYSTEMS_PYTHON = Path("/usr/bin/python3")  # ours may need a library that only root can read
# What a level lacks, of what a machine with tracefs and a kernel log has.
LACKS = {
    "minimal": {"kernel-log", "cgroup-ledger"},
    "perf": {"cgroup-ledger"},
    "full": set[str](),
}
ASKED = (
    "cores",
    "memory-cgroups",
    "interrupts",
    "softirqs",
    "pressure",
    "processes",
    "kernel-log",
    "cgroup-ledger",
)


@pytest.fixture(scope="module")
def workshop() -> Iterator[Workshop]:
    """With the image in it, in a folder that everybody may enter: what is sampled there is to have names."""
    workshop = Workshop(Path(tempfile.mkdtemp(prefix="necroscope-image-")))
    workshop.folder.chmod(0o755)
    try:
        try:
            workshop.make_bases()
        except UnfitError as error:
            pytest.skip(f"the base images cannot be made here: {error}")
        workshop.build(IMAGE)
        yield workshop
    finally:
        workshop.remove()


def said(workshop: Workshop, *words: str) -> subprocess.CompletedProcess[str]:
    """What a container of the image prints, with nothing that it may write to."""
    line = workshop.run_line(
        "--network=none", "--read-only", "--read-only-tmpfs=false", "--cap-drop=ALL", *words
    )
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_it_holds_what_runs_and_nothing_else(workshop: Workshop) -> None:
    assert re.fullmatch(r"necroscope [\d.]+\n", said(workshop, IMAGE, "--version").stdout)
    programs = "gcc cc ld cargo rustc maturin npm node pip pip3 curl"
    look = f"id -u; perf --version; for name in {programs}; do command -v $name || true; done"
    user, perf, *rest = said(workshop, "--entrypoint=sh", IMAGE, "-c", look).stdout.splitlines()
    assert (int(user) > 0, perf.startswith("perf version"), rest) == (True, True, [])
    page = "from importlib.resources import files; print(files('necroscope.server') / 'static/index.html')"
    there = said(workshop, "--entrypoint=python", IMAGE, "-c", f"{page}; import yaml, uvicorn, jeepney")
    assert there.returncode == 0, there.stderr
    inspected = json.loads(workshop.buildah("inspect", "--type=image", IMAGE))
    assert inspected["OCIv1"]["config"]["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0"
    (image,) = json.loads(subprocess.check_output(workshop.podman("images", "--format=json", IMAGE)))
    assert image["Size"] < SMALL_BYTES


def test_the_same_source_makes_the_same_program(workshop: Workshop) -> None:
    """All but what Debian's packages write when they are installed: times and caches of their own."""
    workshop.build(f"{IMAGE}-again", "--no-cache")
    digest = "find /opt -type f | LC_ALL=C sort | xargs -d '\\n' sha256sum | sha256sum"
    digests = {
        said(workshop, "--entrypoint=sh", tag, "-c", digest).stdout for tag in (IMAGE, f"{IMAGE}-again")
    }
    assert len(digests) == 1


def test_the_fleet_is_a_target(workshop: Workshop) -> None:
    workshop.build(f"{IMAGE}-fleet", "--target=fleet")
    trusted = "len(ssl.create_default_context().get_ca_certs())"
    imports = f"import duckdb, pyarrow.fs, scipy, ssl; print({trusted})"
    fleet = said(workshop, "--entrypoint=python", f"{IMAGE}-fleet", "-c", imports)
    assert int(fleet.stdout) > 100, fleet.stderr


@dataclass(frozen=True, slots=True)
class Seen:
    """What a recorder in a pod has seen."""

    body: dict[str, Any]
    metrics: str
    store: Path

    def sources(self) -> dict[str, bool]:
        """Which are up."""
        rows = re.findall(
            r'^necroscope_source_up\{source="([^"]+)",reason="[^"]*"\} ([01])$', self.metrics, re.MULTILINE
        )
        return {name: up == "1" for name, up in rows}


@pytest.fixture(scope="module", params=tuple(LACKS))
def level(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def seen(workshop: Workshop, level: str) -> Iterator[Seen]:
    """A recorder of that level beside a busy program of the host."""
    folder = workshop.folder / level
    names = ("store", "temporary", "config", "heartbeat")
    folders = {name: folder / name for name in names}
    for path in folders.values():
        path.mkdir(parents=True)
    for name in ("temporary", "heartbeat"):
        folders[name].chmod(0o777)
    (folders["config"] / "config.toml").write_text('[record]\nsegment = "10s"\n')
    folders["seccomp"] = runtime_default(folder)
    burner = shutil.copy(SYSTEMS_PYTHON, folder / "hostburner")
    with subprocess.Popen([burner, "-I", "-S", "-c", BURN]) as busy:
        try:
            yield record(workshop, level, folders)
        finally:
            busy.kill()


def record(workshop: Workshop, level: str, folders: dict[str, Path]) -> Seen:
    """Run the pod: first what prepares it, then the recorder for some seconds."""
    pod = pod_of(level)
    for container in pod["initContainers"]:
        subprocess.run(
            workshop.run_line(*options(pod, container, folders), *command(container, IMAGE)), check=True
        )
    (recorder,) = pod["containers"]
    recorder["args"].remove("--kubernetes")  # there is no API server here
    recorder["args"] += ["--duration=24s", "--json"]
    name = f"--name=necroscope-test-{level}"
    line = workshop.run_line(name, *options(pod, recorder, folders), *command(recorder, IMAGE))
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as running:
        time.sleep(15)
        metrics = fetch(workshop, name.partition("=")[2])
        out, _ = running.communicate(timeout=120)
    return Seen(json.loads(out), metrics, folders["store"])


def fetch(workshop: Workshop, name: str) -> str:
    """The metrics, from within the network of the container."""
    inspect = workshop.podman("inspect", "--format={{.State.Pid}}", name)
    pid = subprocess.check_output(inspect, text=True).strip()
    ask_it = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:9464/metrics').read().decode())"
    line = ["nsenter", f"--target={pid}", "--net", sys.executable, "-c", ask_it]
    return subprocess.check_output(line, text=True)


def test_a_level_sees_what_it_should(seen: Seen, level: str) -> None:
    sources = seen.sources()
    assert {name for name in ASKED if not sources[name]} == LACKS[level]
    assert seen.body["gaps"] == 0
    assert seen.body["segments_sealed"] >= 2
    assert bool(seen.body["profiling"]) == (level != "minimal")


def test_samples_have_the_names_of_the_host(seen: Seen, level: str) -> None:
    if level == "minimal":
        pytest.skip("no samples at this level")
    shown = ask("flame", "--store", str(seen.store), "-b", "10m", "--process", "hostburner", "--json")
    names = {label["name"] for label in shown["tree"]["labels"]}
    assert {"do_syscall_64", "_PyEval_EvalFrameDefault"} <= names


def test_nothing_is_left_in_tracefs(seen: Seen) -> None:
    instances = Path("/sys/kernel/tracing/instances")
    running = {path.name for path in Path("/proc").iterdir() if path.name.isdigit()}
    left = [path.name for path in instances.glob("necroscope-*")]
    assert not [name for name in left if name.rpartition("-")[2] not in running]
