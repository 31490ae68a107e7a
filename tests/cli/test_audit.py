from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from lab.machines.image_roots import (
    PLANTED,
    Content,
    copied_root,
    list_unit_files,
    plant,
    set_traps,
    why_no_systemctl,
)
from necroscope.cli.main import main

needs_systemctl = pytest.mark.skipif(why_no_systemctl() is not None, reason=str(why_no_systemctl()))
WANTED = "[Install]\nWantedBy=multi-user.target\n"
ECS = (
    f"[Service]\nExecStart=/usr/libexec/amazon-ecs-init start\nEnvironmentFile=-/etc/ecs/ecs.config\n{WANTED}"
)
WANTS = "etc/systemd/system/multi-user.target.wants"
IMAGE: dict[str, Content] = {
    "usr/lib/systemd/system/multi-user.target": "[Unit]\n",
    "usr/lib/systemd/system/ecs.service": ECS,
    "usr/lib/systemd/system/well.service": f"[Service]\nExecStart=/usr/bin/well\n{WANTED}",
    "usr/lib/systemd/system/broken.service": f"[Service]\nExecStart=/usr/bin/gone\n{WANTED}",
    "usr/lib/systemd/system/skipped.service": "[Unit]\nConditionPathExists=/etc/none\n[Service]\n"
    f"ExecStart=/usr/bin/well\n{WANTED}",
    "usr/libexec/amazon-ecs-init": "#!/usr/bin/well\n",
    "usr/bin/well": "\x7fELF",
    **{
        f"{WANTS}/{name}.service": Path(f"/usr/lib/systemd/system/{name}.service") for name in ("ecs", "well")
    },
    **{
        f"{WANTS}/{name}.service": Path(f"/usr/lib/systemd/system/{name}.service")
        for name in ("broken", "skipped")
    },
}


@pytest.fixture
def image(tmp_path: Path) -> Path:
    plant(tmp_path / "image", IMAGE)
    for name in ("usr/libexec/amazon-ecs-init", "usr/bin/well"):
        (tmp_path / "image" / name).chmod(0o755)
    return tmp_path / "image"


def audit(image: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = main(["audit", "--json", "--root", str(image), *words])
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, body


def test_an_image_with_an_orphan_and_a_broken_unit(image: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, body = audit(image, capsys)
    assert code == 1
    assert body["live"] is False
    found = {(finding["subject"], finding["id"], finding["remedy"]) for finding in body["findings"]}
    assert found == {
        ("ecs.service", "unit-orphaned-agent", "disable-unit"),
        ("broken.service", "unit-default-enabled", "disable-unit"),
    }
    units = {unit["name"]: unit for unit in body["units"]}
    assert units["skipped.service"]["conditions"] == ["ConditionPathExists=/etc/none does not hold"]
    assert units["skipped.service"]["obstacles"] == []
    assert units["ecs.service"]["running"] is None
    assert "packages" in [row["source"] for row in body["not_checked"]]


def test_a_configuration_in_the_image_is_enough(image: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plant(
        image,
        {
            "etc/ecs/ecs.config": "ECS_CLUSTER=shop\n",
            "usr/lib/systemd/system/docker.service": f"[Service]\nExecStart=/usr/bin/well\n{WANTED}",
            f"{WANTS}/docker.service": Path("/usr/lib/systemd/system/docker.service"),
        },
    )
    _, body = audit(image, capsys)
    assert [finding["subject"] for finding in body["findings"]] == ["broken.service"]


def test_a_policy_gates_a_build(image: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[allow]\n"ecs.service" = "for ECS"\n"bro*" = "soon"\n"typo.service" = "x"\n')
    code, body = audit(image, capsys, "--policy", str(policy))
    assert code == 0
    assert body["findings"] == []
    assert len(body["allowed"]) == 2
    assert body["policy_without_effect"] == ["typo.service matches no enabled unit"]


def test_a_bad_policy_is_a_usage_error(
    image: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[alow]\n"a" = "b"\n')
    code, body = audit(image, capsys, "--policy", str(policy))
    assert code == 2
    assert body["error"]["slug"] == "bad-config"


def test_no_unit_files_is_not_a_clean_bill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, body = audit(tmp_path, capsys)
    assert code == 3
    assert body["error"]["slug"] == "cannot-look"


def test_reports_go_to_stdout_or_to_a_new_file(
    image: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["audit", "--root", str(image), "--format"]
    assert main([*words, "sarif"]) == 1
    assert json.loads(capsys.readouterr().out)["version"] == "2.1.0"
    path = tmp_path / "audit.xml"
    assert main([*words, "junit", "-o", str(path)]) == 1
    assert ElementTree.parse(path).getroot().tag == "testsuites"
    before = path.read_bytes()
    assert main([*words, "sarif", "-o", str(path)]) == 2
    assert path.read_bytes() == before
    assert main([*words, "sarif", "-f", "-o", str(path)]) == 1
    assert path.read_bytes() != before
    assert main([*words, "sarif", "--json"]) == 2
    assert main(["audit", "--root", str(image), "--json", "-o", str(tmp_path / "new")]) == 2
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("width", ["40", "60", "200"])
def test_the_text_fits_the_screen(
    image: Path, width: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    assert main(["audit", "--root", str(image), "--all"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2 units to look at, 4 are enabled")
    assert max(map(len, lines)) <= int(width)


@needs_systemctl
def test_every_unit_of_an_image_as_systemctl_says_and_nothing_is_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = copied_root(tmp_path / "root")
    plant(root, PLANTED)
    mark = tmp_path / "mark"
    plant(root, {"usr/libexec/amazon-ecs-init": "x", "usr/lib/systemd/system-generators/trap": "x"})
    for name in ("usr/libexec/amazon-ecs-init", "usr/lib/systemd/system-generators/trap"):
        (root / name).chmod(0o755)
    assert set_traps(root, mark) >= 2
    _, body = audit(root, capsys)
    listed = list_unit_files(root)
    ours = {unit["name"]: (unit["state"], unit["preset"]) for unit in body["units"]}
    assert len(listed) > 100
    assert {name: ours.get(name) for name in listed} == listed
    assert not mark.exists()
