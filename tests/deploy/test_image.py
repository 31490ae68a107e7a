"""The recipe of the image: from the lock files, with nothing in the end that only builds need."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.deploy.dockerfile import Instruction, is_ignored, parse_dockerfile
from tests.deploy.manifests import USER

ROOT = Path(__file__).parents[2]
IMAGE = ROOT / "deploy/image"
RECIPE = parse_dockerfile((IMAGE / "Dockerfile").read_text())
IGNORED = (IMAGE / "Dockerfile.dockerignore").read_text()
README = (IMAGE / "README.md").read_text()
FINAL = ("necroscope", "fleet")
HADOLINT = Path(sys.executable).with_name("hadolint")
BUILD_ONLY = re.compile(
    r"\b(gcc|g\+\+|clang|rustc|cargo|maturin|npm|node|pip|make|build-essential|\S+-dev)\b"
)


def version(text: str) -> tuple[int, ...]:
    """The first version that a text names."""
    return tuple(int(number) for number in re.findall(r"\d+", re.findall(r"\d+(?:\.\d+)*", text)[0]))


def commands() -> list[str]:
    """Every command that any stage runs."""
    runs = [run for stage in RECIPE.stages.values() for run in stage.all("RUN")]
    return [command.strip() for run in runs for command in run.words.split("&&")]


def copies() -> list[Instruction]:
    """What comes from the context."""
    all_copies = [copy for stage in RECIPE.stages.values() for copy in stage.all("COPY")]
    return [copy for copy in all_copies if "from" not in copy.flags]


def sources() -> list[str]:
    """The paths of the context that are copied."""
    return [source for copy in copies() for source in copy.operands[:-1]]


@pytest.mark.parametrize("source", sources())
def test_what_is_copied_is_in_a_clean_checkout_and_not_ignored(source: str) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", source], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert tracked.stdout
    kept = [path for path in tracked.stdout.splitlines() if not is_ignored(path, IGNORED)]
    assert kept == tracked.stdout.splitlines()


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".venv/bin/python",
        "target/release/lib_native.so",
        "web/node_modules/vite/package.json",
        "src/necroscope/_native.abi3.so",
        "src/necroscope/cli/__pycache__/main.cpython-311.pyc",
        "src/necroscope/server/static/index.html",
        "tests/conftest.py",
        "requirements/dev.txt",
        "build/lab/x",
    ],
)
def test_what_a_work_tree_has_beside_stays_out(path: str) -> None:
    """Also what a build here would make anew: an old page or library must not get in."""
    assert is_ignored(path, IGNORED)


def test_bases_are_arguments_with_a_version() -> None:
    for name, image in RECIPE.arguments.items():
        assert re.fullmatch(r"docker\.io/library/[a-z]+:[\w.-]*bookworm-?\w*", image), (name, image)
    for stage in RECIPE.stages.values():
        assert stage.origin in RECIPE.stages or stage.origin in RECIPE.arguments.values(), stage.name


def test_toolchains_are_new_enough() -> None:
    rust = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    assert version(RECIPE.arguments["RUST_IMAGE"]) >= version(rust)
    node = json.loads((ROOT / "web/package.json").read_text())["engines"]["node"]
    assert version(RECIPE.arguments["NODE_IMAGE"])[0] >= version(node)[0]


def test_packages_come_from_the_lock_files() -> None:
    installs = [command for command in commands() if re.match(r"pip install|npm|maturin", command)]
    allowed = r"pip install (--require-hashes -r requirements/\w+\.txt|--no-deps /wheels/\*\.whl)"
    allowed += r"|npm ci .*|npm run .*|maturin build .*--locked.*"
    assert len(installs) >= 6
    assert all(re.fullmatch(allowed, command) for command in installs), installs


def test_nothing_is_fetched_by_its_address() -> None:
    assert not [stage.name for stage in RECIPE.stages.values() if stage.all("ADD")]
    assert not [command for command in commands() if re.search(r"\b(curl|wget|https?:|git)\b", command)]


@pytest.mark.parametrize("name", FINAL)
def test_the_final_stages(name: str) -> None:
    lineage = RECIPE.lineage(name)
    assert lineage[-1].origin == RECIPE.arguments["DEBIAN_IMAGE"]
    runs = [run.words for stage in lineage for run in stage.all("RUN")]
    assert not [run for run in runs if BUILD_ONLY.search(run)]
    assert all("rm -rf /var/lib/apt/lists/*" in run for run in runs if "apt-get" in run)
    last = {
        kind: next(stage.all(kind)[-1].words for stage in lineage if stage.all(kind))
        for kind in ("USER", "ENTRYPOINT")
    }
    assert last["ENTRYPOINT"] == '["necroscope"]'
    assert last["USER"] == f"{USER}:{USER}", "a number, so that runAsNonRoot can tell"


def test_the_recorder_is_what_is_built_without_a_target() -> None:
    assert list(RECIPE.stages)[-1] == "necroscope"


def test_the_version_is_ours() -> None:
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    arguments = {argument.words for argument in RECIPE.stages["system"].all("ARG")}
    assert f"VERSION={ours}" in arguments
    assert f"-t necroscope:{ours} ." in README


@pytest.mark.skipif(not HADOLINT.exists(), reason="needs hadolint: make .venv/packages-dev")
def test_hadolint_has_nothing_to_say(tmp_path: Path) -> None:
    careless = tmp_path / "Dockerfile"
    careless.write_text("FROM debian\nRUN cd /tmp\n")
    assert "DL3006" in _hadolint(careless), "it has to say something where there is something to say"
    assert _hadolint(IMAGE / "Dockerfile") == ""


def _hadolint(recipe: Path) -> str:
    return subprocess.run([HADOLINT, recipe], capture_output=True, text=True, check=False).stdout
