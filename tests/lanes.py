"""Which tests run beside which, when there are several workers (`scripts/run-tests`).

A test that touches the real machine (containers, memory cgroups, perf, the kernel log) sees what another one
does to it: all of these form one lane, and one worker runs them one after the other. A guest has a machine of
its own, so each test with guests is a lane by itself. All other tests only compute; the tests of a file stay
together, and those of the page, because they share what is costly to make. What needs a machine on which
nothing else happens is marked `alone`, and gets it.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
MACHINE = "machine"
MACHINE_FOLDERS = ("tests/deploy/", "tests/lab/", "tests/profiles/test_", "tests/real/")
PAGE_FOLDER = "tests/web/"
MACHINE_IMPORTS = re.compile(
    r"^(?:from|import) (?:lab\.(?:faults|recorders|running|training|machines\.nspawn)"
    r"|tests\.(?:real|fleet\.ray_cluster)\b)",
    re.MULTILINE,
)
GUEST_IMPORTS = re.compile(r"^from lab\.machines(?:\.qemu import .*\bGuest\b| import qemu)", re.MULTILINE)

# Each with what would spoil it.
ALONE = {
    "tests/fleet/jobs/test_real_jobs.py": "a job is late under load",
    "tests/lab/test_pinterest_pings.py": "compares times",
    "tests/lab/test_scenarios.py": "load of others is the cause that is then diagnosed",
    "tests/lab/training/test_job.py": "a job is late under load; all processes of Ray are counted",
    "tests/lab/training/test_network.py": "compares times; all network namespaces are counted",
    "tests/real/test_cores.py": "a core that others fill is not this test's",
    "tests/real/test_diagnose.py": "load of others is the cause that is then diagnosed",
    "tests/real/test_fix.py": "under load units start too unevenly to tell whether a fix helped",
    "tests/real/test_recorder_clock.py": "sets the wall clock of the machine",
    "tests/server/test_slow_requests.py": "compares times",
}
ALONE_TESTS = {
    "test_at_moments_without_a_spike_nothing_stands_out": "whatever others do stands out",
}


def is_alone(file: str, test: str) -> bool:
    """Whether a test, without its parameters, needs the machine for itself."""
    return file in ALONE or test in ALONE_TESTS


def lane_of(nodeid: str) -> str:
    """What a test must not run beside: all of the same lane run one after the other."""
    file = nodeid.partition("::")[0]
    return nodeid if (lane := _lane_of_file(file)) is None else lane


@cache
def _lane_of_file(file: str) -> str | None:
    """The lane of a file's tests; None where each has its own."""
    text = (ROOT / file).read_text()
    if GUEST_IMPORTS.search(text):
        return None
    if file.startswith(MACHINE_FOLDERS) or MACHINE_IMPORTS.search(text):
        return MACHINE
    return PAGE_FOLDER if file.startswith(PAGE_FOLDER) else file
