"""Two zones of one image: on one of them a bootstrap step fails, and so an agent does not start.

`node-setup.service` runs once at boot and makes what the agent looks for; where the file `step-works` is not
beside it, it fails. All else is the same on both.

    with one_image(per_start=300) as boot, boot(works=False) as lucky:
        lucky.run(["systemctl", "is-failed", "node-setup.service"])

Where the step works, `ecs.service` starts, fails, leaks memory cgroups and is started again
(`lab.faults.leaking_units`). Zones see the cgroups of the whole machine: have one of them at a time.

Needs    what `lab.faults.leaking_units` needs
Costs    0.4 s to boot a zone; where the agent runs, one start a second
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from lab.faults.crash_loops import UNIT, leaked, wait_until_freed
from lab.faults.leaking_scripts import make_holes
from lab.faults.leaking_units import DISK, leaking_files
from lab.machines.nspawn import Container

STEP = "node-setup.service"
LOOKED_FOR = "/etc/ecs/ecs.config"
WORKS = "step-works"  # systemd takes only files with the ending of a unit for one
Boot = Callable[..., AbstractContextManager[Container]]

STEP_FILE = """[Unit]
Description=make this node what it is to be
Before=ecs.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c '{command}'
[Install]
WantedBy=multi-user.target
"""
AGENT_FILE = """[Unit]
Description=Amazon Elastic Container Service - container agent
{condition}
[Service]
{environment}
ExecStart=/bin/bash -c 'exec -a /usr/libexec/amazon-ecs-init sleep infinity'
"""
FAILS = f"[ -e /etc/systemd/system/{WORKS} ] || exit 1; "
WRITES = STEP_FILE.format(command=f"{FAILS}mkdir -p /etc/ecs; echo ECS_CLUSTER=x >{LOOKED_FOR}")

# Three ways in which the agent depends on the step; the agent itself only sleeps.
NEEDS_FILE = {
    UNIT: AGENT_FILE.format(condition=f"ConditionPathExists={LOOKED_FOR}", environment=""),
    STEP: WRITES,
}
NEEDS_ENVIRONMENT = {
    UNIT: AGENT_FILE.format(condition="", environment=f"EnvironmentFile={LOOKED_FOR}"),
    STEP: WRITES,
}
IS_TAKEN_AWAY = {
    UNIT: AGENT_FILE.format(condition="", environment=""),
    STEP: STEP_FILE.format(
        command=f"{FAILS}systemctl --no-reload disable {UNIT}; systemctl --no-block stop {UNIT}"
    ),
}


def zone(units: Mapping[str, str], *, works: bool, binds: Sequence[Path] = ()) -> Container:
    """A host on which the step works or fails."""
    return Container(units=_with_mark(units, works), enable=(UNIT, STEP), binds=binds)


@contextmanager
def one_image(per_start: int, *, binds: Sequence[Path] = ()) -> Iterator[Boot]:
    """What boots zones of one image, whose agent leaks where it starts; with a zone goes what it leaked."""
    folder = Path(tempfile.mkdtemp(prefix="lab-zones-", dir=DISK))
    units = {
        **leaking_files(folder, per_start, per_start),
        f"{UNIT}.d/needs-setup.conf": f"[Unit]\nConditionPathExists={LOOKED_FOR}\n",
        STEP: WRITES,
    }

    @contextmanager
    def boot(*, works: bool) -> Iterator[Container]:
        level = leaked()
        make_holes(folder)
        try:
            with Container(
                units=_with_mark(units, works),
                enable=(UNIT, STEP),
                binds=(folder, *binds),
                private_network=False,
                whole_machine=True,
            ) as machine:
                yield machine
        finally:
            (folder / "holes").unlink()  # and the pages with it
            wait_until_freed(level)

    try:
        yield boot
    finally:
        shutil.rmtree(folder)


def _with_mark(units: Mapping[str, str], works: bool) -> Mapping[str, str]:
    return {**units, WORKS: ""} if works else units
