"""The rules of the house that no linter checks."""

from __future__ import annotations

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path

from necroscope.cli.explain import action_pages
from necroscope.cli.main import VERBS
from necroscope.errors import ERRORS
from necroscope.findings.catalog import ALL_DETECTORS
from necroscope.model.event import EVENT_KINDS
from necroscope.model.remedy_ids import REMEDIES
from necroscope.remedies.actions.catalog import ALL_ACTIONS
from necroscope.remedies.plan.catalog import ALL_REMEDIES
from necroscope.remedies.verify.quantities import QUANTITIES
from necroscope.sources.catalog import SOURCES

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src/necroscope"
STAGES = [
    "model",
    "statistics",
    "sources",
    "store",
    "profiles",
    "signals",
    "findings",
    "diagnosis",
    "inventory",
    "remedies",
]
FILES = sorted(SRC.rglob("*.py"))
# They write what systemd or a script has as words, for parsers of ours. Nobody pastes that.
QUOTING_FOR_PARSERS = ("sources/systemd/unit_details.py", "sources/failed_steps.py")
# A text that ends in a command, before a name is put behind it: `systemctl stop {unit}`, `echo 1 >{file}`.
PROGRAMS = (
    "systemctl|journalctl|kubectl|ethtool|fuser|ipcrm|ipcs|ps|perf|rm|ln|mkdir|kill|echo|cat|umount|mount|mv|cp"
    "|chmod|chown"
)
BEGUN_COMMAND = re.compile(
    rf"(^|[\s`(;&|])({PROGRAMS}|necroscope ({'|'.join(VERBS)}))( (?!calls )[^\s`;()]*[^\s`;():,])* >?$"
)
NO_NAMES = {"utils", "helpers", "common", "misc", "manager", "base"}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imported_names(path: Path) -> set[str]:
    tree = tree_of(path)
    names = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return names | {
        alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }


def imported_stages(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imported_names(path) if name.startswith("necroscope.")}


def test_data_flows_one_way() -> None:
    wrong = {}
    for path in FILES:
        stage = path.relative_to(SRC).parts[0]
        if stage in STAGES:  # the outer ring may import any stage
            allowed = {*STAGES[: STAGES.index(stage) + 1], "errors", "_native"}
            if not_allowed := imported_stages(path) - allowed:
                wrong[str(path.relative_to(SRC))] = not_allowed
    assert wrong == {}


def test_no_folders_import_each_other_in_a_circle() -> None:
    imports: dict[Path, set[Path]] = {}
    for path in FILES:
        if path.parent != SRC:  # errors.py is everybody's, and __main__.py imports what it starts
            modules = {SRC.parent / name.replace(".", "/") for name in imported_names(path)}
            folders = {module if module.is_dir() else module.parent for module in modules}
            imports.setdefault(path.parent, set()).update(folders - {path.parent, SRC, SRC.parent})
    order = list(TopologicalSorter(imports).static_order())  # CycleError names the folders
    assert len(order) > 20


def test_the_recorder_stays_lean() -> None:
    """A node has no numpy, and the process that runs all the time has no room for it."""
    heavy = {"numpy", "scipy", "pyarrow", "duckdb", "fastapi"}
    seen: set[Path] = set()
    left = [path for path in FILES if path.is_relative_to(SRC / "agent")]
    wrong = {}
    while left:
        path = left.pop()
        if path in seen:
            continue
        seen.add(path)
        names = imported_names(path)
        if not_allowed := {name.split(".")[0] for name in names} & heavy:
            wrong[str(path.relative_to(SRC))] = not_allowed
        modules = (SRC.parent / name.replace(".", "/") for name in names if name.startswith("necroscope."))
        left += [path for path in (module.with_suffix(".py") for module in modules) if path.exists()]
    assert len(seen) > 100
    assert wrong == {}


def test_files_are_named_by_what_is_in_them() -> None:
    assert [path for path in FILES if path.stem in NO_NAMES] == []


def test_only_main_prints_and_exits() -> None:
    forbidden = {"print", "sys.exit", "exit", "os._exit"}
    wrong = []
    for path in FILES:
        calls = (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call))
        if path.name != "main.py" and forbidden & {ast.unparse(call.func) for call in calls}:
            wrong.append(path)
    assert wrong == []


def test_commands_to_paste_are_put_together_in_one_place() -> None:
    quoting = {path for path in FILES if re.search(r"\bshlex\.(quote|join)\b", path.read_text())}
    assert quoting == {SRC / path for path in QUOTING_FOR_PARSERS}
    wrong = []
    for path in FILES:
        for text in (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.JoinedStr)):
            parts = (
                (words, value) for words, value in pairwise(text.values) if isinstance(words, ast.Constant)
            )
            if any(BEGUN_COMMAND.search(str(words.value)) for words, _ in parts):
                wrong.append(f"{path.relative_to(SRC)}: {ast.unparse(text)}")
    assert wrong == [], "model/shell_command.py quotes, whatever the name is"


def test_every_source_says_what_it_reads_needs_and_costs() -> None:
    for source in SOURCES:
        assert all(f"\n{word}    " in source.doc for word in ("Reads", "Needs", "Costs")), source.id
        assert (SRC / "sources" / f"{source.id.replace('-', '_')}.py").exists(), "one id everywhere"


def test_every_detector_has_a_manual_page() -> None:
    for detector in ALL_DETECTORS:
        assert "Fires " in detector.doc, f"{detector.id}: what it fires on"
        assert " not " in detector.doc, f"{detector.id}: what it does not say"
        assert "To do:" in detector.doc, f"{detector.id}: what to do"
        assert (SRC / "findings" / f"{detector.id.replace('-', '_')}.py").exists(), "one id everywhere"
        assert (ROOT / "tests/findings" / f"test_{detector.id.replace('-', '_')}.py").exists()


def test_every_remedy_has_a_page_a_file_a_test_and_a_row() -> None:
    assert ALL_REMEDIES.keys() == REMEDIES.keys()
    manual = (ROOT / "docs/fix.md").read_text()
    for id, remedy in ALL_REMEDIES.items():
        name = id.replace("-", "_")
        assert (SRC / "remedies/plan" / f"{name}.py").exists(), "one id everywhere"
        assert " not " in " ".join(remedy.doc.split()), f"{id}: what it does not do"
        tests = [ROOT / "tests" / folder / f"test_{name}.py" for folder in ("remedies/plan", "real")]
        assert any(path.exists() for path in tests), f"{id}: a test"
        assert f"`{id}`" in manual


def test_every_action_has_a_file_and_a_page() -> None:
    pages = action_pages()
    for id in ALL_ACTIONS:
        assert (SRC / "remedies/actions" / f"{id.replace('-', '_')}.py").exists(), "one id everywhere"
        assert len(pages[id]) > 30, f"{id}: what it does"


def test_every_quantity_has_a_row() -> None:
    manual = (ROOT / "docs/verify.md").read_text()
    assert not [id for id in QUANTITIES if f"| `{id}` |" not in manual]


def test_every_error_is_documented() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "docs/messages.md").read_text(), re.MULTILINE)
    assert headings == list(ERRORS)


def test_every_verb_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    assert all(f"`{verb}" in readme for verb in VERBS)


def test_every_dependency_has_its_reason() -> None:
    reasons = (ROOT / "docs/dependencies.md").read_text()
    wanted = re.findall(r"^([a-z][\w-]+)", (ROOT / "requirements/dev.in").read_text(), re.MULTILINE)
    wanted += re.findall(r"^([a-z][\w-]+)", (ROOT / "requirements/run.in").read_text(), re.MULTILINE)
    for cargo in ROOT.glob("native/*/Cargo.toml"):
        wanted += re.findall(r"^([a-z][\w-]*) = \{ version", cargo.read_text(), re.MULTILINE)
    assert not [name for name in wanted if f"**{name}**" not in reasons]


def test_every_event_kind_is_plain_words() -> None:
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)+", kind) for kind in EVENT_KINDS)


def test_architecture_names_files_that_exist() -> None:
    """A stale map costs a newcomer more than none."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+(?:\.[a-z]+)?/?)`", text))
    places = (ROOT, SRC, ROOT / "web")
    assert {name for name in named if not any((place / name).exists() for place in places)} == set()
