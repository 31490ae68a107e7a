"""Other programs that open our files, where they are installed; a test that lacks one says how to get it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "necroscope"


def run(command: list[str | Path], **environment: str) -> str:
    """What a program prints; its complaint as the failure."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env=os.environ | environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def go_pprof(file: Path, *options: str) -> str:
    """`go tool pprof` without the network."""
    go = shutil.which("go", path=f"{os.environ.get('PATH', '')}:/usr/local/go/bin")
    if go is None:
        pytest.skip("go is not installed, so `go tool pprof` did not open the file")
    environment = {"GOFLAGS": "-mod=mod", "GOPROXY": "off", "PPROF_TMPDIR": str(file.parent)}
    return run([go, "tool", "pprof", *options, file], **environment)


def speedscope_import(*paths: Path) -> list[dict[str, Any]]:
    """The profiles as speedscope's own importer reads them."""
    bundles = sorted(CACHE.glob("speedscope/package/dist/release/speedscope-*.js"))
    node = shutil.which("node")
    if node is None or not bundles:
        pytest.skip(
            "speedscope did not open the file: needs node, and in ~/.cache/necroscope/speedscope "
            "`npm pack speedscope && tar xzf speedscope-*.tgz`"
        )
    read: list[dict[str, Any]] = json.loads(run([node, HERE / "speedscope_import.js", bundles[-1], *paths]))
    return read


def use_svg(path: Path) -> dict[str, Any]:
    """What a reader sees who clicks, types and searches in an SVG, in jsdom."""
    node = shutil.which("node")
    if node is None or not (CACHE / "jsdom/node_modules/jsdom").is_dir():
        pytest.skip(
            "the SVG's script did not run: needs node, and "
            "`npm install --prefix ~/.cache/necroscope/jsdom jsdom`"
        )
    seen: dict[str, Any] = json.loads(run([node, HERE / "svg_interact.js", CACHE / "jsdom", path]))
    return seen


def chromium_dom(path: Path) -> str:
    """The page as a headless Chromium has it after its script ran."""
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        pytest.skip("no Chromium is installed, so no real browser opened the SVG")
    return run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", path.as_uri()])
