"""The wheel has the page: a git-ignored folder is easily left out in silence."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "src/necroscope/server/static"

pytestmark = pytest.mark.skipif(
    not (STATIC / "index.html").exists(), reason="the page is not built: make web (needs npm)"
)


def page_files() -> set[str]:
    return {str(path.relative_to(ROOT / "src")) for path in STATIC.rglob("*") if path.is_file()}


def build(command: str, out: Path, *options: str) -> Path:
    maturin = [str(Path(sys.executable).with_name("maturin")), command, "--out", str(out)]
    subprocess.run([*maturin, *options], cwd=ROOT, check=True, capture_output=True)
    (built,) = out.iterdir()
    return built


def test_the_page_is_in_the_wheel(tmp_path: Path) -> None:
    wheel = build("build", tmp_path, "--release", "--locked", "--offline")
    names = set(ZipFile(wheel).namelist())
    assert len(page_files()) >= 3 and page_files() <= names


def test_the_page_is_in_the_source_package(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path)) as package:
        names = {name.partition("/")[2] for name in package.getnames()}
    assert {f"src/{name}" for name in page_files()} <= names
