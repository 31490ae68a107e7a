"""perf kept running: rolled, killed, replaced, orphaned. A false one for what the real one would not do."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from necroscope import _native
from necroscope.model import retry
from necroscope.profiles.capture import Capture, CaptureNews, Closed, Ended, Ready
from necroscope.profiles.perf_command import BUILD_IDS, CONTROL, DATA_NAME
from necroscope.profiles.perf_session import parse_status, read_status
from necroscope.profiles.recovery import end_orphans
from necroscope.sources.host import Host
from tests.profiles import captures

SECOND_NS = 10**9
RATE = 499
BUSY_ON_CORE_0 = ["taskset", "-c", "0", sys.executable, "-S", "-c", "while True: pass"]
Make = Callable[..., Capture]


@pytest.fixture(scope="module")
def perf() -> None:
    """Needed by all that use the real one."""
    captures.require_perf()


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Captures that are stopped at the end, whatever happens."""
    made: list[Capture] = []

    def make_one(*, rate: int = RATE, perf: str = "perf", flight: bool = False) -> Capture:
        made.append(Capture(tmp_path / "captures", Host(), rate, perf=perf, flight=flight))
        return made[-1]

    yield make_one
    for capture in made:
        capture.stop(5)


def false_perf(folder: Path, *lines: str) -> str:
    """A shell script in perf's place."""
    path = folder / "perf"
    path.write_text("\n".join(("#!/bin/sh", *lines)) + "\n")
    path.chmod(0o755)
    return str(path)


def tick_until(
    capture: Capture, kind: type[CaptureNews] | Callable[[], bool], seconds: float = 8
) -> list[CaptureNews]:
    """Tick as the recorder does, but faster, until there is such news or something is so."""
    news: list[CaptureNews] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        news += capture.tick(time.monotonic_ns())
        if any(isinstance(one, kind) for one in news) if isinstance(kind, type) else kind():
            return news
        time.sleep(0.02)
    pytest.fail(f"waited in vain; news {news}, error {capture.error!r}")


def started(capture: Capture) -> int:
    """Start it, and its session once it is ready."""
    capture.start()
    (ready,) = (one for one in tick_until(capture, Ready) if isinstance(one, Ready))
    return ready.session


def closed(news: Sequence[CaptureNews]) -> list[Path]:
    return [one.path for one in news if isinstance(one, Closed)]


def only_end(news: Sequence[CaptureNews]) -> Ended:
    (end,) = (one for one in news if isinstance(one, Ended))
    return end


def pid_in(folder: Path) -> int:
    return int((folder / "pid").read_text().split()[0])


def imported(path: Path) -> tuple[dict[str, object], _native.Profile]:
    folder = path.parent.parent / f"sealed-{path.parent.name}-{path.name}"
    folder.mkdir()
    facts = _native.import_perf_data(path, folder, kallsyms=None, root="/", idle=[], interrupt=[])
    return facts, _native.Profile(folder)


def quiet_columns(paths: Sequence[Path], step_ns: int) -> tuple[int, int]:
    """How many steps there are from the first to the last sample of core 0, and in how many it has none."""
    profiles = [imported(path)[1] for path in paths]
    spans = [span for profile in profiles if (span := profile.span())]
    begin, end = min(span[0] for span in spans), max(span[1] for span in spans)
    query = _native.Query(begin, end, cpus=[0], processes=[], threads=[], events=[], idle=True)
    counts = [0] * ((end - begin) // step_ns)
    for profile in profiles:
        _, rows, cells = profile.cores(query, step_ns)
        for column, count in enumerate(cells[::rows][: len(counts)]):
            counts[column] += count
    return len(counts), counts.count(0)


@pytest.mark.usefixtures("perf")
def test_a_rolling_capture(make: Make, tmp_path: Path) -> None:
    capture = make()
    capture.start()
    assert not capture.is_ready
    assert not capture.switch(), "a SIGUSR2 now would kill perf"
    assert [type(one) for one in tick_until(capture, Ready)] == [Ready]
    files = []
    with captures.running(BUSY_ON_CORE_0):
        for _ in range(2):
            time.sleep(0.4)
            assert capture.switch()
            files += closed(tick_until(capture, Closed))
        time.sleep(0.4)
        assert capture.resident_bytes() > 1 << 20
        used = capture.cpu_seconds()
        last = capture.stop(5)
    files += closed(last)
    assert len(files) == len(set(files)) == 3
    assert only_end(last).reason == "stopped"
    assert only_end(last).leftover is None
    assert all(imported(path)[0]["samples"] for path in files)
    steps, quiet = quiet_columns([path.rename(path.with_name(f"{path.name}0")) for path in files], 20_000_000)
    assert steps > 40
    assert quiet <= 1, "no hole between files"
    assert capture.cpu_seconds() >= used > 0
    assert (capture.error, capture.starts, capture.is_ready) == ("", 1, False)
    assert capture.description in (f"cpu-clock at {RATE} Hz", f"cycles at {RATE} Hz")
    assert not (tmp_path / "captures/1/pid").exists()


@pytest.mark.usefixtures("perf")
def test_perf_is_killed(make: Make, tmp_path: Path) -> None:
    """The leftover of a later file can be read beside a closed one, and perf is started again."""
    capture = make()
    assert started(capture) == 1
    time.sleep(0.3)
    capture.switch()
    (path,) = closed(tick_until(capture, Closed))
    time.sleep(0.5)
    capture.tick(time.monotonic_ns())  # writes out the rings
    time.sleep(0.2)
    os.kill(pid_in(tmp_path / "captures/1"), signal.SIGKILL)
    end = only_end(tick_until(capture, Ended))
    assert end.reason == "perf ended, Killed (9)"
    assert capture.error == end.reason
    assert not capture.is_ready
    assert (end.leftover, end.head) == (path.with_name(DATA_NAME), path)
    assert end.leftover is not None
    assert imported(end.leftover)[0]["samples"]
    assert capture.starts == 2, "at once: every second without it is a hole"
    (ready,) = (one for one in tick_until(capture, Ready) if isinstance(one, Ready))
    assert ready.session == 2
    assert (capture.error, capture.starts) == ("", 2)
    path.unlink()
    end.leftover.unlink()
    capture.tick(time.monotonic_ns())
    assert not (tmp_path / "captures/1").exists(), "a folder goes when its files are gone"


@pytest.mark.usefixtures("perf")
def test_a_replacement_leaves_no_hole(make: Make) -> None:
    capture = make()
    started(capture)
    with captures.running(BUSY_ON_CORE_0):
        time.sleep(0.4)
        assert capture.replace(997)
        assert not capture.replace(), "one at a time"
        assert capture.is_ready, "the old one goes on"
        assert [type(one) for one in tick_until(capture, Ready)] == [Ready]
        assert capture.description.endswith("at 997 Hz")
        time.sleep(0.1)
        capture.retire_old()
        news = tick_until(capture, Ended)
        time.sleep(0.3)
    old = only_end(news)
    assert (old.session, old.reason, old.leftover) == (1, "retired", None)
    assert capture.is_ready
    files = closed(news) + closed(capture.stop(5))
    assert [path.parent.name for path in files] == ["1", "2"]
    (_, end_of_old), (begin_of_new, _) = (imported(path)[1].span() or (0, 0) for path in files)
    assert begin_of_new < end_of_old
    steps, quiet = quiet_columns([path.rename(path.with_name(f"{path.name}0")) for path in files], 20_000_000)
    assert steps > 40
    assert quiet <= 1


@pytest.mark.usefixtures("perf")
def test_a_replacement_that_does_not_start(make: Make, tmp_path: Path) -> None:
    mark = tmp_path / "second"
    complaint = "echo 'Access to performance monitoring is limited' >&2"
    script = false_perf(tmp_path, f"[ -e {mark} ] && {{ {complaint}; exit 255; }}", 'exec perf "$@"')
    capture = make(perf=script)
    assert started(capture) == 1
    mark.touch()
    assert capture.replace()
    assert not closed(tick_until(capture, lambda: bool(capture.error)))
    assert capture.error.startswith("the replacement: not permitted")
    assert capture.is_ready
    assert capture.switch(), "the old one goes on"
    assert not capture.replace(), "not at once"


CHILD = """
import sys, time
from pathlib import Path
from necroscope.profiles.capture import Capture
from necroscope.sources.host import Host
capture = Capture(Path(sys.argv[1]), Host(), 499, perf=sys.argv[2])
capture.start()
while True:
    capture.tick(time.monotonic_ns())
    if capture.is_ready:
        Path(sys.argv[1], "ready").touch()
    time.sleep(0.05)
"""


def kill_a_recorder(folder: Path, path: str) -> int:
    """Start a recorder, kill it once it captures; the number of its perf."""
    real = shutil.which("perf") or ""
    command = [sys.executable, "-c", CHILD, str(folder), real]
    with subprocess.Popen(command, env={**os.environ, "PATH": path}) as child:
        captures.wait_until(folder / "ready")
        child.kill()
    return pid_in(folder / "1")


def is_running(pid: int) -> bool:
    status = read_status(pid)
    return status is not None and status.comm == "perf" and status.state != "Z"


@pytest.mark.usefixtures("perf")
def test_we_are_killed(tmp_path: Path) -> None:
    """perf ends with us, and closes its file."""
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    pid = kill_a_recorder(tmp_path, os.environ["PATH"])
    end = time.monotonic() + 5
    while is_running(pid) and time.monotonic() < end:
        time.sleep(0.02)
    assert not is_running(pid)
    (path,) = end_orphans(tmp_path)
    assert path.name != DATA_NAME
    assert imported(path)[0]["samples"]


@pytest.mark.usefixtures("perf")
def test_an_orphan_is_ended(tmp_path: Path) -> None:
    """Where perf outlives us, the next recorder ends it and gets its files, in order."""
    pid = kill_a_recorder(tmp_path, "/nowhere")  # no setpriv there
    time.sleep(0.2)
    assert is_running(pid)
    (tmp_path / "10").mkdir()
    later = [tmp_path / "10" / name for name in (f"{DATA_NAME}.2026", f"{DATA_NAME}.2027", DATA_NAME)]
    for path in later:
        path.write_bytes(bytes(200))
    first, *others = end_orphans(tmp_path)
    assert not is_running(pid)
    assert first.parent.name == "1"
    assert imported(first)[0]["samples"]
    assert others == later


def test_another_process_of_the_same_number_is_left_alone(tmp_path: Path) -> None:
    program = tmp_path / "perf"
    program.symlink_to(shutil.which("sleep") or "/bin/sleep")
    with captures.running([str(program), "60"]) as (process,):
        status = read_status(process.pid)
        assert status is not None
        (tmp_path / "1").mkdir()
        (tmp_path / "1/pid").write_text(f"{process.pid} {status.start_ticks + 1}\n")
        assert end_orphans(tmp_path) == []
        assert process.poll() is None


@pytest.mark.usefixtures("perf")
def test_an_older_perf(make: Make, tmp_path: Path) -> None:
    """What it does not know is left out, one after the other, and said."""
    refuse = (
        "printf '  Error: unknown option `%s'\"'\"'\\n\\n Usage: perf record\\n' \"${one#--}\" >&2; exit 129"
    )
    script = false_perf(
        tmp_path,
        f'for one; do case "$one" in --buildid-mmap|--control=*) {refuse};; esac; done',
        'exec perf "$@"',
    )
    capture = make(perf=script)
    begin = time.monotonic()
    assert started(capture) == 3
    assert time.monotonic() - begin > 2, "it cannot be asked: ready is to be alive after 2 s"
    assert {CONTROL.lost, BUILD_IDS.lost} <= set(capture.left_out)
    assert capture.error == ""
    assert capture.switch()
    assert closed(tick_until(capture, Closed))[0].parent.name == "3"
    assert sorted(path.name for path in (tmp_path / "captures").iterdir()) == ["3"]


def test_a_perf_that_is_not_permitted(make: Make, tmp_path: Path) -> None:
    """It is not asked again until we are told to."""
    script = false_perf(
        tmp_path,
        f"[ -e {tmp_path}/permitted ] && exec sleep 60",
        "echo 'Access to performance monitoring and observability operations is limited.' >&2",
        "exit 255",
    )
    capture = make(perf=script)
    capture.start()
    assert tick_until(capture, lambda: bool(capture.error)) == []
    assert capture.error.startswith("not permitted: ")
    assert "CAP_PERFMON" in capture.error
    assert capture.tick(time.monotonic_ns() + 100 * SECOND_NS) == []
    assert capture.starts == 1
    (tmp_path / "permitted").touch()
    capture.start()
    assert capture.starts == 2
    capture.tick(time.monotonic_ns() + 11 * SECOND_NS)
    assert capture.is_ready, "one that never answers is believed after a while"
    assert capture.error == ""
    assert not capture.switch(), "it would be killed by the signal"
    assert capture.tick(time.monotonic_ns()) == []


def test_pauses_between_starts(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A perf that crashes is started again after 1, 2, 4 ... 60 seconds."""
    monkeypatch.setattr(retry, "JITTER_RATIO", 0.0)
    capture = make(perf=false_perf(tmp_path, "kill -ABRT $$"))
    now_ns = time.monotonic_ns()
    capture.start()
    pauses = []
    for start in range(1, 9):
        news: list[CaptureNews] = []
        while not news:
            news = capture.tick(now_ns)
        assert only_end(news).reason == "perf ended, Aborted (6)"
        pause = 0
        while capture.starts == start:
            pause += 1
            now_ns += SECOND_NS
            assert capture.tick(now_ns) == []
        pauses.append(pause)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    assert len(list((tmp_path / "captures").iterdir())) <= 1


def test_no_perf(make: Make) -> None:
    capture = make(perf="no-such-perf")
    capture.start()
    assert capture.error == "no-such-perf is not installed"
    assert capture.tick(time.monotonic_ns() + 5 * SECOND_NS) == []
    assert (capture.starts, capture.is_ready, capture.switch(), capture.replace()) == (0, False, False, False)
    assert (capture.resident_bytes(), capture.cpu_seconds()) == (0, 0)


def test_a_folder_that_cannot_be_made(make: Make, tmp_path: Path) -> None:
    (tmp_path / "captures").write_text("a file")
    capture = make(perf=false_perf(tmp_path, "exec sleep 60"))
    capture.start()
    assert capture.error.startswith("perf cannot be started: ")
    assert capture.tick(time.monotonic_ns()) == []


@pytest.mark.usefixtures("perf")
def test_a_full_disk(make: Make, tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=120k", "none", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        capture = make()
        capture.start()
        with captures.running(BUSY_ON_CORE_0):
            tick_until(capture, lambda: "No space left on device" in capture.error)
        capture.stop(5)
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.usefixtures("perf")
def test_a_flight_recording(make: Make) -> None:
    """Nothing is written until a switch; then what the rings hold."""
    capture = make(flight=True)
    started(capture)
    time.sleep(0.4)
    assert capture.switch()
    (path,) = closed(tick_until(capture, Closed))
    assert imported(path)[0]["samples"]
    assert only_end(capture.stop(5)).leftover is None


def test_a_name_may_hold_brackets() -> None:
    """/proc/PID/stat of a program that is called `a) b (c`."""
    fields = "S 1 4711 4711 0 -1 4194304 1 2 3 4 100 50 25 25 20 0 2 0 123456 999 888"
    status = parse_status(f"4711 (a) b (c) {fields}\n")
    assert (status.comm, status.state, status.start_ticks) == ("a) b (c", "S", 123456)
    assert status.cpu_seconds == 200 / os.sysconf("SC_CLK_TCK")
