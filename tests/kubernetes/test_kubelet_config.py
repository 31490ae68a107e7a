"""The kubelet's own code takes our configuration, and refuses what write-ups invent."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lab.machines.go_programs import go_program, missing

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(bool(missing("kubelet-config")), reason=missing("kubelet-config")),
]

FOLDER = Path(__file__).parents[2] / "deploy/kubernetes/kubelet"
FILES = sorted(FOLDER.glob("*.conf"))
HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def check(text: str) -> tuple[int, str]:
    program = str(go_program("kubelet-config"))
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.returncode, done.stdout


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_kubelet_takes_it(file: Path) -> None:
    assert check(file.read_text()) == (0, "")


def test_the_kubelet_takes_all_of_them_together() -> None:
    fields = [line for file in FILES for line in file.read_text().splitlines() if line not in HEAD]
    assert check(HEAD + "\n".join(fields)) == (0, "")
    assert len(FILES) == 3


@pytest.mark.parametrize(
    ("invented", "answer"),
    [
        ("cgroupVersion: v2", 'unknown field "cgroupVersion"'),
        ("cgroupVersion: 2", 'unknown field "cgroupVersion"'),
        ("featureGates: {CgroupV2: true}", "unrecognized feature gate: CgroupV2"),
        ("housekeepingInterval: 30s", 'unknown field "housekeepingInterval"'),
        ("memorySwap: {swapBehavior: UnlimitedSwap}", "must be one of"),
        ("reservedSystemCPUs: 0-3\nsystemReservedCgroup: /system.slice", "can't use reservedSystemCPUs"),
    ],
)
def test_what_does_not_exist_is_refused(invented: str, answer: str) -> None:
    code, said = check(f"{HEAD}{invented}\n")
    assert code == 1
    assert answer in said


def test_an_empty_swap_setting_is_real() -> None:
    assert check(f"{HEAD}memorySwap: {{}}\n") == (0, "")
