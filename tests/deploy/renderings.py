"""What kustomize and Helm make of the shipped manifests, by the programs themselves."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from deploy.kubernetes.render import CHART, KUSTOMIZE
from lab.machines.go_programs import go_program, missing
from tests.deploy.manifests import Objects, objects_in

Test = TypeVar("Test", bound=Callable[..., object])

# With `make test-servers`, which builds these programs: that takes minutes on a fresh machine.
NEEDS_PROGRAMS = [
    pytest.mark.servers,
    pytest.mark.skipif(bool(missing("kustomize", "helm")), reason=missing("kustomize", "helm")),
]


def needs_programs(test: Test) -> Test:
    """Mark one test with NEEDS_PROGRAMS."""
    for mark in NEEDS_PROGRAMS:
        test = mark(test)
    return test


def run(program: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """What a program says, whatever its exit code is."""
    path = go_program(program)
    assert path, program
    return subprocess.run([path, *words], capture_output=True, text=True, check=False, timeout=60)


def kustomize_build(folder: Path) -> Objects:
    """What `kustomize build` makes of a folder."""
    built = run("kustomize", "build", folder)
    assert built.returncode == 0, built.stderr
    return objects_in(built.stdout)


def overlay(level: str) -> Objects:
    """The overlay of a level."""
    return kustomize_build(KUSTOMIZE / "overlays" / level)


def renamed_overlay(folder: Path) -> Path:
    """An overlay of the operator's own, in another namespace and with a prefix before all names."""
    base = "../" * (len(folder.resolve().parts) - 1) + str(KUSTOMIZE / "overlays/perf").lstrip("/")
    lines = [f"resources: [{base}]", "namespace: elsewhere", "namePrefix: x-"]
    (folder / "kustomization.yaml").write_text("\n".join(lines))
    return folder


def helm_template(*words: str) -> Objects:
    """What `helm template` makes of the chart; words as `--set`, `level=full`."""
    made = run("helm", "template", "necroscope", CHART, "--namespace", "necroscope", *words)
    assert made.returncode == 0, made.stderr
    return objects_in(made.stdout)
