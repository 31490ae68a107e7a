"""Every rule of an agent proves itself on its own examples; a name alone proves nothing."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from necroscope.findings.agent_programs import find_programs
from necroscope.findings.agents import agent_rules, recognise

FILES = sorted(files("necroscope.findings").joinpath("rules/agents").iterdir(), key=lambda file: file.name)
TABLES: dict[str, dict[str, Any]] = dict(
    chain.from_iterable(tomllib.loads(file.read_text()).items() for file in FILES)
)
KEYS = {"what", "units", "programs", "packages", "fails", "removal", "reference", "match", "no_match"}
DOCS = Path(__file__).parents[2] / "docs/agents.md"

each_rule = pytest.mark.parametrize("id", TABLES)


def recognised(row: dict[str, str]) -> str | None:
    commands = [row["program"]] if "program" in row else []
    files = [row["file"]] if "file" in row else []
    found = recognise(row["unit"], commands, row.get("package", ""), files)
    return found[0].id if found else None


@each_rule
def test_rule_keeps_to_the_schema(id: str) -> None:
    table = TABLES[id]
    assert KEYS <= table.keys() <= KEYS | {"needs", "words", "idles", "name_is_shared"}
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", id)
    assert table["what"][0].islower() or table["what"].split()[0] not in ("The", "A", "An")
    assert table["fails"].endswith(".")
    assert table["reference"].startswith("https://")
    assert table["removal"] and all(table["removal"])
    for need in table.get("needs", ()):
        assert {"what", "any"} <= need.keys() <= {"what", "any", "provided_at_boot"}
        assert need["what"] and need["any"]


@each_rule
def test_units_are_recognised_as_this_agent_and_no_other(id: str) -> None:
    assert TABLES[id]["match"] and TABLES[id]["no_match"], "a rule without examples is a guess"
    for row in TABLES[id]["match"]:
        assert recognised(row) == id, row
    for row in TABLES[id]["no_match"]:
        assert recognised(row) != id, row


@each_rule
def test_every_unit_of_a_rule_is_a_unit(id: str) -> None:
    for glob in TABLES[id]["units"]:
        assert glob.endswith((".service", ".socket", ".timer", ".path")), glob


def test_every_table_is_loaded_once() -> None:
    assert [rule.id for rule in agent_rules()] == list(TABLES)
    assert len(TABLES) == sum(len(tomllib.loads(file.read_text())) for file in FILES), "an id is used twice"


def test_no_two_rules_claim_a_unit_by_its_name() -> None:
    globs = [glob for table in TABLES.values() for glob in table["units"]]
    assert len(globs) == len(set(globs))


@pytest.mark.parametrize(
    ("commands", "package", "why"),
    [
        (["/usr/libexec/amazon-ecs-init start"], "", "its program /usr/libexec/amazon-ecs-init"),
        (["/usr/libexec/amazon-ecs-init start"], "another", "its program /usr/libexec/amazon-ecs-init"),
        (["@/usr/libexec/amazon-ecs-init ecs start"], "", "its program /usr/libexec/amazon-ecs-init"),
        (["/opt/start"], "ecs-init", "its package ecs-init"),
        ([], "", "its name ecs.service; nothing else tells what it runs"),
        (
            ["/usr/bin/env A=b bash /opt/x"],
            "",
            "its name ecs.service; nothing else tells what it runs",
        ),
        (["/usr/bin/python3 -u /opt/amazon-ecs-agent"], "", "its program /opt/amazon-ecs-agent"),
        (["/bin/sh -c 'A=1 exec /opt/ecs-agent --x'"], "", "its program /opt/ecs-agent"),
        (["/usr/bin/nice -n 5 /opt/ecs-agent"], "", "its program /opt/ecs-agent"),
        (["/opt/fake-ecs-agent"], "", "its name ecs.service and its program /opt/fake-ecs-agent"),
        (["/opt/x -c /etc/ecs/ecs.config"], "", "its name ecs.service and the file /etc/ecs/ecs.config"),
    ],
)
def test_what_gave_it_away(commands: list[str], package: str, why: str) -> None:
    found = recognise("ecs.service", commands, package)
    assert found and (found[0].id, found[1]) == ("amazon-ecs-agent", why)


@pytest.mark.parametrize(
    ("commands", "package"),
    [
        (["/usr/bin/foo"], ""),
        (["/usr/bin/foo"], "elastic-console"),
        (["/usr/bin/foo --like amazon-ecs-agent"], ""),
        (["/usr/bin/foo", "/bin/sh /opt/script"], ""),
        (["/bin/sh /opt/script"], "elastic-console"),
        (["/usr/bin/python3 /opt/elastic/console.py"], "elastic-console"),
        (["/usr/bin/java -jar /opt/elastic/console.jar"], ""),
        (["/usr/bin/timeout 60 /usr/bin/foo"], ""),
        (["/usr/bin/docker ps"], ""),
        (["/bin/sh -c 'while true; do /usr/bin/foo; sleep 1; done'"], ""),
        (["/usr/bin/env -i PATH=/bin /usr/bin/foo"], ""),
        (["/bin/sh -c 'exec /usr/bin/foo amazon-ecs-agent'"], ""),
        (["/bin/sh -c 'if systemctl stop amazon-ecs-agent; then /usr/bin/foo; fi'"], ""),
        (["/usr/bin/docker-credential-helper"], ""),
    ],
)
def test_a_name_alone_is_not_enough(commands: list[str], package: str) -> None:
    assert recognise("ecs.service", commands, package) is None


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("nice -n 19 /usr/bin/x /var/lib/kubelet", "/usr/bin/x"),
        ("nice -19 x kubelet", "x"),
        ("ionice -c2 -n 7 x", "x"),
        ("timeout -k 5 --signal=KILL 60 rsync -a /etc/dockerd x", "rsync"),
        ("flock -w 5 /run/containerd x -c y", "x"),
        ("flock /run/containerd -c 'exec x kubelet'", "x"),
        ("systemd-cat -t kubelet x", "x"),
        ("systemd-cat --identifier kubelet --priority=info x", "x"),
        ("setpriv --reuid vector --regid vector --clear-groups x", "x"),
        ("runuser -u filebeat -- x", "x"),
        ("runuser filebeat -c 'x kubelet'", "x"),
        ("su - filebeat -s /bin/sh -c 'x kubelet'", "x"),
        ("sudo -nu kubelet A=b x", "x"),
        ("env -u kubelet A=b x", "x"),
        ("env -S 'A=b x kubelet'", "x"),
        ("taskset -c 0-3 chrt -f 99 numactl -N 0 --membind=0 x", "x"),
        ("chroot /srv/kubelet x", "x"),
        ("nsenter -t 1 -m x", "x"),
        ("tini -g -- x", "x"),
        ("systemd-run --unit kubelet -p User=kubelet x", "x"),
        ("bash -o pipefail -ec 'x'", "x"),
        ("docker -H tcp://kubelet run --rm -it --name kubelet -v /kubelet:/y -e A=b a/x:1 kubelet", "a/x"),
        ("podman container run --replace --network=kubelet x kubelet", "x"),
        ("ctr -n k8s.io run --rm --net-host x kubelet", "x"),
        ("docker start -a x", "x"),
        ("snap run --strace x", "x"),
    ],
)
def test_the_one_program_behind_a_launcher(command: str, program: str) -> None:
    assert find_programs([command]).programs == (program,)


def test_a_package_counts_for_its_own_units_only() -> None:
    assert recognise("our-apt-mirror.service", ["/usr/bin/foo"], "apt") is None


@pytest.mark.parametrize(
    "command",
    [
        "",
        "''",
        "'",
        "@",
        "/bin/sh",
        "/bin/sh -c",
        "/bin/sh -c ''",
        "sh -c 'sh -c \"sh -c sh\"'",
        "\0\1\2",
        "sh -c '" + ";" * 100_000 + "'",
        "sudo " * 10_000,
        "env " + "sh " * 10_000,
        "docker run " + "/" * 10_000,
        "$(" * 10_000,
    ],
)
def test_a_strange_command_does_no_harm(command: str) -> None:
    find_programs([command])
    recognise("x.service", [command], "")


def test_the_manual_lists_every_agent_with_its_needs() -> None:
    table = DOCS.read_text().partition("## The agents")[2].partition("## To add one")[0]
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (.+?) \| (.+?) \|$", table, re.MULTILINE)
    assert rows == [
        (rule.id, rule.what, "; ".join(need.what for need in rule.needs) or "nothing of its own")
        for rule in agent_rules()
    ]
    assert f"knows {len(rows)} of them" in DOCS.read_text()


def test_the_manual_explains_every_kind_of_check() -> None:
    table = DOCS.read_text().partition("## How a need is judged")[2].partition("## The agents")[0]
    used = {
        kind for rule in TABLES.values() for need in rule.get("needs", ()) for kind in chain(*need["any"])
    }
    assert all(f"`{key}`" in table or f"`{key} = " in table for key in used), used
