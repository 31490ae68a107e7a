"""What a bootstrap step is, and what it is about."""

from __future__ import annotations

from pathlib import Path

from lab.machines.image_roots import Content, plant
from necroscope.inventory.sections.bootstrap import read_bootstrap
from necroscope.inventory.sections.subject import Subject
from necroscope.inventory.sections.units import read_units
from necroscope.sources.host import Host

WANTED = "[Install]\nWantedBy=multi-user.target\n"
UNITS = "usr/lib/systemd/system"
WANTS = "etc/systemd/system/multi-user.target.wants"
FILES: dict[str, Content] = {
    f"{UNITS}/legacyd.service": "[Unit]\nWants=prepare.service\n[Service]\n"
    f"ExecStart=/opt/legacy/run --fast\n{WANTED}",
    f"{WANTS}/legacyd.service": Path("/usr/lib/systemd/system/legacyd.service"),
    f"{UNITS}/other.service": f"[Service]\nExecStart=/bin/sh -c 'exit 0'\n{WANTED}",
    f"{UNITS}/prepare.service": "[Service]\nType=oneshot\nExecStart=/usr/local/bin/prepare --all\n",
    f"{UNITS}/unused.service": "[Service]\nType=oneshot\nExecStart=/bin/true\n",
    "usr/local/bin/prepare": "#!/bin/sh\n. /opt/boot/common.sh\nset_up\n",
    "opt/boot/common.sh": "set_up() { for unit in legacyd nothing; do install /opt/legacy/run; done; }\n",
}


def test_a_step_is_told_by_what_it_runs_and_what_that_includes(tmp_path: Path) -> None:
    plant(tmp_path, FILES)
    facts = read_bootstrap(Subject(Host(tmp_path))).value or {}
    assert facts["prepare.service/names"].split() == [
        "/opt/boot/common.sh",
        "/opt/legacy/run",
        "/usr/local/bin/prepare",
        "legacyd.service",
    ]
    assert not [name for name in facts if name.startswith(("unused.service", "other.service"))]


def test_a_unit_asks_for_programs_that_somebody_put_there(tmp_path: Path) -> None:
    plant(tmp_path, FILES)
    facts = read_units(Subject(Host(tmp_path))).value or {}
    assert facts["legacyd.service/asks-for"] == "/opt/legacy/run"
    assert "other.service/asks-for" not in facts
