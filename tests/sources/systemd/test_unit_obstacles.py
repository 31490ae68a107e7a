"""Why a unit cannot do its job, from files alone; and silence where files do not tell."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_files import UnitFile, read_unit_files
from necroscope.sources.systemd.unit_obstacles import find_obstacles
from necroscope.sources.unit_conditions import failed_conditions
from tests.sources.conftest import Content, Tree, write_tree

USR = "/usr/lib/systemd/system"
FILES: Mapping[str, Content] = {
    "/usr/bin/agent": b"\x7fELF\xff",
    "/usr/bin/link": Path("/usr/bin/agent"),
    "/usr/bin/data": "not a program",
    "/usr/bin/script": "#!/usr/bin/agent -x\n",
    "/usr/bin/orphan": "#!/usr/bin/python9\n",
    "/usr/bin/env": b"\x7fELF\xff",
    "/usr/bin/by-env": "#!/usr/bin/env python9\n",
    "/usr/bin/by-env-fine": "#!/usr/bin/env -S A=1 agent\n",
    "/usr/bin/plain": "echo no first line\n",
    "/usr/bin/empty": "",
    "/usr/bin/dos": "#!/usr/bin/agent\r\n",
    "/usr/bin/dos-env": "#!/usr/bin/env agent\r\n",
    "/usr/bin/dos-option": "#!/usr/bin/agent -x\r\n",
    "/opt/tools/tool": b"\x7fELF\xff",
    "/etc/agent.env": "A=1\n",
    "/etc/passwd": "root:x:0:0::/:\nagent:x:100:100::/:\n",
    "/etc/group": "root:x:0:\nagent:x:100:\n",
    "/usr/lib/sysusers.d/x.conf": 'u! later - "Later" /\ng team -\nm agent extra\n',
    "/usr/lib/userdb/record.user": "{}",
    "/usr/lib/tmpfiles.d/x.conf": "d /var/lib/made 0755 - - -\n",
    "/var/lib/agent/file": "x",
    "/etc/empty": None,
}
NOT_PROGRAMS = ("data",)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("image")
    write_tree(root, FILES)
    for program in (*(root / "usr/bin").iterdir(), root / "opt/tools/tool"):
        if program.name not in NOT_PROGRAMS and not program.is_symlink():
            program.chmod(0o755)
    return root


@contextmanager
def planted(image: Path, text: str, name: str = "a.service") -> Iterator[tuple[Host, UnitFile]]:
    file = image / f"{USR}/{name}".lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    try:
        host = Host(image)
        units = {unit.name: unit for unit in read_unit_files(host).value or ()}
        yield host, units[name]
    finally:
        file.unlink()


def obstacles(
    image: Path, text: str, name: str = "a.service", units: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    with planted(image, text, name) as (host, unit):
        return find_obstacles(host, unit, units)


def service(*lines: str) -> str:
    return "\n".join(["[Service]", *lines, ""])


START = "ExecStart=/usr/bin/agent"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@pytest.mark.parametrize(
    "lines",
    [
        (START,),
        ("ExecStart=/usr/bin/link --option",),
        ("ExecStart=agent",),
        ('ExecStart=@"/usr/bin/agent" name',),
        ("ExecStart=+!:/usr/bin/agent",),
        ("ExecStart=/usr/bin/script",),
        ("ExecStart=/usr/bin/by-env-fine",),
        ("ExecStart=/usr/bin/dos-option",),
        ("ExecStart=|echo anything",),
        ("ExecStart=/mnt/share/agent",),
        ("ExecStart=/snap/agent/current/agent", "WorkingDirectory=/media/disk"),
        (START, "StateDirectory=own/deeper", "WorkingDirectory=/var/lib/own"),
        (START, "ExecStartPre=-/usr/bin/is-not-there"),
        (START, "ExecStop=/usr/bin/is-not-there"),
        ("ExecStart=tool", "ExecSearchPath=/opt/tools"),
        ("Type=oneshot", START, START),
        ("Type=oneshot", "ExecStop=/usr/bin/agent", "RemainAfterExit=yes"),
        (START, "EnvironmentFile=/etc/agent.env"),
        (START, "EnvironmentFile=-/etc/is-not-there"),
        (START, "EnvironmentFile=/etc/*.conf"),
        (START, "EnvironmentFile=/run/made-by-somebody"),
        (START, "User=agent", "Group=agent"),
        (START, "User=0"),
        (START, "User=later", "Group=team", "SupplementaryGroups=extra later"),
        (START, "User=record"),
        (START, "User=unheard-of", "DynamicUser=yes"),
        (START, "WorkingDirectory=/var/lib/agent"),
        (START, "WorkingDirectory=-/is-not-there"),
        (START, "WorkingDirectory=~"),
        (START, "WorkingDirectory=/var/lib/own/below", "StateDirectory=own"),
        (START, "WorkingDirectory=/var/lib/made"),
        ("ExecStart=/is-not-there", "RootDirectory=/srv/root"),
        ("ExecStart=/is-not-there", "RootImage=/srv/image", "WorkingDirectory=/is-not-there"),
        ("ExecStart=/run/agent",),
        ("ExecStart=/opt/%H/agent",),
        ("ExecStart=/is-not-there", "ExecStart=", START),
    ],
    ids=" ".join,
)
def test_nothing_is_in_the_way(image: Path, lines: tuple[str, ...]) -> None:
    assert obstacles(image, service(*lines)) == ()


@pytest.mark.parametrize(
    ("lines", "obstacle"),
    [
        (("ExecStart=/usr/bin/x",), "ExecStart=/usr/bin/x cannot be run: /usr/bin/x is not there"),
        (
            ("ExecStart=/usr/bin/data",),
            "ExecStart=/usr/bin/data cannot be run: /usr/bin/data is not executable",
        ),
        (("ExecStart=/usr/bin",), "ExecStart=/usr/bin cannot be run: /usr/bin is not a file"),
        (("ExecStart=nobody",), f"ExecStart=nobody cannot be run: there is no nobody in {PATH}"),
        (
            ("ExecStart=/usr/bin/orphan",),
            "ExecStart=/usr/bin/orphan cannot be run: "
            "/usr/bin/orphan is a script, and /usr/bin/python9 is not there",
        ),
        (
            ("ExecStart=/usr/bin/by-env",),
            "ExecStart=/usr/bin/by-env cannot be run: "
            f"/usr/bin/by-env is a script, and there is no python9 in {PATH}",
        ),
        (
            ("ExecStart=/usr/bin/plain",),
            "ExecStart=/usr/bin/plain cannot be run: /usr/bin/plain does not begin with #!",
        ),
        (
            ("ExecStart=/usr/bin/empty",),
            "ExecStart=/usr/bin/empty cannot be run: /usr/bin/empty does not begin with #!",
        ),
        (
            ("ExecStart=/usr/bin/dos",),
            "ExecStart=/usr/bin/dos cannot be run: /usr/bin/dos is a script with the line ends of DOS, "
            "which the kernel takes for part of a name",
        ),
        (
            ("ExecStart=/usr/bin/dos-env",),
            "ExecStart=/usr/bin/dos-env cannot be run: /usr/bin/dos-env is a script, and "
            "its line ends of DOS are part of the name that env looks for",
        ),
        ((START, "ExecStartPre=+/pre x"), "ExecStartPre=/pre cannot be run: /pre is not there"),
        (("Type=oneshot", f"{START} ; /second"), "ExecStart=/second cannot be run: /second is not there"),
        (("Type=simple",), "it has no ExecStart="),
        (("Type=oneshot", "RemainAfterExit=yes"), "it has no ExecStart="),
        (("ExecStop=/usr/bin/agent",), "it has no ExecStart=, which only RemainAfterExit=yes allows"),
        ((START, START), "it has more than one ExecStart=, which only Type=oneshot allows"),
        ((START, "Type=dbus"), "it has no BusName=, which Type=dbus needs"),
        ((START, "EnvironmentFile=/etc/x"), "EnvironmentFile=/etc/x is not there"),
        ((START, "User=ghost"), "User=ghost: there is no such user"),
        ((START, "User=team"), "User=team: there is no such user"),
        ((START, "Group=ghosts"), "Group=ghosts: there is no such group"),
        ((START, "SupplementaryGroups=agent ghosts"), "SupplementaryGroups=ghosts: there is no such group"),
        ((START, "WorkingDirectory=/var/lib/x"), "WorkingDirectory=/var/lib/x is not there"),
        (
            (START, "StateDirectory=own-too", "WorkingDirectory=/var/lib/own"),
            "WorkingDirectory=/var/lib/own is not there",
        ),
    ],
    ids=str,
)
def test_what_is_in_the_way(image: Path, lines: tuple[str, ...], obstacle: str) -> None:
    assert obstacles(image, service(*lines)) == (obstacle,)


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ("ConditionPathExists=/etc/x", "ConditionPathExists=/etc/x does not hold"),
        ("ConditionPathExists=!/etc/passwd", "ConditionPathExists=!/etc/passwd does not hold"),
        ("ConditionPathExists=/etc/passwd", ""),
        ("ConditionPathIsDirectory=/etc/passwd", "ConditionPathIsDirectory=/etc/passwd does not hold"),
        ("ConditionDirectoryNotEmpty=/etc/empty", "ConditionDirectoryNotEmpty=/etc/empty does not hold"),
        ("ConditionFileNotEmpty=/usr/bin/empty", "ConditionFileNotEmpty=/usr/bin/empty does not hold"),
        ("ConditionFileIsExecutable=/etc/passwd", "ConditionFileIsExecutable=/etc/passwd does not hold"),
        ("ConditionPathExistsGlob=/etc/*.env", ""),
        (
            "ConditionPathExistsGlob=/*/lib/agent/[x-z]*",
            "ConditionPathExistsGlob=/*/lib/agent/[x-z]* does not hold",
        ),
        ("ConditionPathIsSymbolicLink=/usr/bin/link", ""),
        (
            "ConditionPathIsSymbolicLink=/usr/bin/agent",
            "ConditionPathIsSymbolicLink=/usr/bin/agent does not hold",
        ),
        ("ConditionPathExists=/sys/class/x", ""),  # an image does not tell
        ("ConditionPathExists=/etc/%H", ""),
        ("ConditionKernelCommandLine=x", ""),
        ("ConditionPathExists=|/etc/x\nConditionPathExists=|/etc/passwd", ""),
        ("ConditionPathExists=|/etc/x\nConditionHost=|x", ""),
        (
            "ConditionPathExists=|/etc/x\nConditionPathExists=|!/etc/passwd",
            "ConditionPathExists=|/etc/x does not hold, and none of 1 others",
        ),
        ("ConditionPathExists=/etc/x\nConditionPathExists=", ""),
    ],
)
def test_a_condition_is_no_obstacle_and_an_assertion_is_one(image: Path, conditions: str, said: str) -> None:
    text = f"[Unit]\n{conditions}\n{service(START)}"
    with planted(image, text) as (host, unit):
        assert tuple(failed_conditions(host, unit.settings)) == ((said,) if said else ())
        assert find_obstacles(host, unit) == ()
    with planted(image, text.replace("Condition", "Assert")) as (host, unit):
        assert find_obstacles(host, unit) == ((said.replace("Condition", "Assert"),) if said else ())
        assert tuple(failed_conditions(host, unit.settings)) == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a@.service", ()),
        ("a@agent.service", ()),
        ("a@x.service", ("ExecStart=/usr/bin/x cannot be run: /usr/bin/x is not there",)),
    ],
)
def test_specifiers_that_the_name_tells(image: Path, name: str, expected: tuple[str, ...]) -> None:
    assert obstacles(image, service("ExecStart=/usr/bin/%i"), name) == expected


def test_a_user_that_a_server_may_know_is_no_obstacle(tree: Tree) -> None:
    host = tree({**FILES, "/etc/nsswitch.conf": "passwd: files [NOTFOUND=continue] sss\ngroup: files\n"})
    (host.root / "usr/bin/agent").chmod(0o755)
    found = obstacles(host.root, service(START, "User=ghost", "Group=ghosts"))
    assert found == ("Group=ghosts: there is no such group",)


def test_without_a_list_of_users_nobody_is_missing(tree: Tree) -> None:
    host = tree({"/usr/bin/agent": b"\x7fELF\xff"})
    (host.root / "usr/bin/agent").chmod(0o755)
    assert obstacles(host.root, service(START, "User=ghost")) == ()


@pytest.mark.parametrize("pipe", ["/etc/passwd", "/usr/lib/passwd", "/etc/nsswitch.conf"])
def test_a_pipe_in_the_place_of_a_list_of_users_leaves_it_open(tree: Tree, pipe: str) -> None:
    host = tree({"/usr/bin/agent": b"\x7fELF\xff", "/etc/passwd": "root:x:0:0::/:\n", "/usr/lib/x": ""})
    (host.root / "usr/bin/agent").chmod(0o755)
    assert obstacles(host.root, service(START, "User=ghost")) == ("User=ghost: there is no such user",)
    (host.root / pipe.lstrip("/")).unlink(missing_ok=True)
    os.mkfifo(host.root / pipe.lstrip("/"))
    assert obstacles(host.root, service(START, "User=ghost")) == ()


STATES = {
    "there.service": "static",
    "masked.service": "masked",
    "masked-runtime.target": "masked-runtime",
    "bad.socket": "bad",
    "many@.service": "static",
    "off@.service": "masked",
}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("Requires=there.service many@.service many@one.service", ()),
        ("Requires=x.device x.mount x.slice -.slice x.scope x.swap x.target", ()),
        ("Requires=made@generated.service", ()),
        ("Wants=gone.service masked.service", ()),
        ("Requires=%H.service", ()),
        ("Requires=gone.service", ("Requires=gone.service: there is no such unit",)),
        ("BindsTo=there.service gone.socket", ("BindsTo=gone.socket: there is no such unit",)),
        ("Requisite=masked.service", ("Requisite=masked.service: it is masked",)),
        ("Requires=masked-runtime.target", ("Requires=masked-runtime.target: it is masked",)),
        ("Requires=off@one.service", ("Requires=off@one.service: it is masked",)),
        ("Requires=bad.socket", ("Requires=bad.socket: it has a bad unit file",)),
        ("Requires=%N-x.timer", ("Requires=a-x.timer: there is no such unit",)),
    ],
)
def test_units_that_a_unit_cannot_do_without(image: Path, line: str, found: tuple[str, ...]) -> None:
    text = f"[Unit]\n{line}\n{service(START)}"
    assert obstacles(image, text, units=STATES) == found
    assert obstacles(image, text) == (), "without the states nobody knows"


def test_what_a_template_needs_only_its_instances_know(image: Path) -> None:
    text = f"[Unit]\nRequires=%i-x.service\n{service(START)}"
    assert obstacles(image, text, "a@.service", STATES) == ()
    assert obstacles(image, text, "a@b.service", STATES) == ("Requires=b-x.service: there is no such unit",)


@pytest.mark.parametrize(
    ("name", "lines", "found"),
    [
        ("there.socket", "ListenStream=/run/x", ()),
        ("many@.socket", "ListenFIFO=/run/x", ()),
        ("many.socket", "ListenDatagram=1\nAccept=yes", ()),
        ("a.socket", "ListenStream=1\nService=there.service", ()),
        ("there.socket", "SocketMode=0600", ("it has no ListenStream= or other Listen setting",)),
        ("a.socket", "ListenStream=1", ("a.service, which it starts: there is no such unit",)),
        ("masked.socket", "ListenStream=1", ("masked.service, which it starts: it is masked",)),
        (
            "there.socket",
            "ListenStream=1\nAccept=yes",
            ("there@.service, which it starts: there is no such unit",),
        ),
    ],
)
def test_a_socket_needs_an_address_and_a_service(
    image: Path, name: str, lines: str, found: tuple[str, ...]
) -> None:
    assert obstacles(image, f"[Socket]\n{lines}\n", name, STATES) == found


BELOW = service("ExecStart=/srv/data/bin/agent", "WorkingDirectory=/srv/data/work")
MISSING = (
    "ExecStart=/srv/data/bin/agent cannot be run: /srv/data/bin/agent is not there",
    "WorkingDirectory=/srv/data/work is not there",
)


def test_what_a_mount_will_bring_is_not_missing(tree: Tree) -> None:
    host = tree({USR: None, "/srv/data": None})
    assert obstacles(host.root, BELOW, units={}) == MISSING
    assert obstacles(host.root, BELOW, units={"srv-data.mount": "generated", "-.mount": "generated"}) == ()
    assert obstacles(host.root, BELOW, units={"srv.mount": "masked"}) == MISSING
    assert obstacles(host.root, BELOW, units={"-.mount": "generated"}) == MISSING
    assert obstacles(host.root, f"[Unit]\nRequiresMountsFor=/srv/data/\n{BELOW}") == ()
    assert obstacles(host.root, f"[Unit]\nRequiresMountsFor=/srv/dat\n{BELOW}") == MISSING


def test_a_mount_point_with_something_in_it_is_part_of_the_image(tree: Tree) -> None:
    host = tree({USR: None, "/srv/data/bin/other": "x"})
    assert obstacles(host.root, BELOW, units={"srv-data.mount": "generated"}) == MISSING


def test_a_line_of_fstab_is_a_mount(tree: Tree) -> None:
    host = tree({f"{USR}/a.service": BELOW, "/etc/fstab": "/dev/sdb1 /srv/data ext4 nofail 0 2\n"})
    files = {unit.name: unit for unit in read_unit_files(host).value or ()}
    states = {name: file.state for name, file in files.items()}
    assert find_obstacles(host, files["a.service"], states) == ()


def test_masked_and_refused_units(tree: Tree) -> None:
    host = tree({f"{USR}/masked.service": "", f"{USR}/bad.service": "[Service\n"})
    found = {unit.name: find_obstacles(host, unit) for unit in read_unit_files(host).value or ()}
    assert found == {
        "masked.service": (),
        "bad.service": (f"systemctl calls {USR}/bad.service a bad unit file",),
    }


def test_other_kinds_of_units_need_no_command(image: Path) -> None:
    assert obstacles(image, "[Unit]\nDescription=x\n", "a.target") == ()


def test_a_program_that_is_a_pipe_holds_nobody_up(tree: Tree) -> None:
    host = tree({USR: None})
    os.mkfifo(host.root / "agent", 0o755)
    found = obstacles(host.root, service("ExecStart=/agent"))
    assert found == ("ExecStart=/agent cannot be run: /agent is not a file",)


def test_links_of_an_image_do_not_lead_to_our_own_files(tree: Tree) -> None:
    host = tree({USR: None, "/agent": Path("/bin/sh"), "/out": Path("../../../../../../bin/sh")})
    found = obstacles(host.root, service("Type=oneshot", "ExecStart=/agent", "ExecStart=/out"))
    assert [sentence.rpartition(":")[2] for sentence in found] == [
        " /agent is not there",
        " /out is not there",
    ]
