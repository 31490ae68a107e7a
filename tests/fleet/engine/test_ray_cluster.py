"""The real thing: three nodes, a token, a node killed in the middle; the answers are those of one process."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.engine.generated_tables import write_generated_tables
from tests.fleet.ray_cluster import RayCluster, ray_cluster, why_no_cluster
from tests.fleet.test_call_trees import import_drawn

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(why_no_cluster() is not None, reason=str(why_no_cluster())),
]
DRIVER = (sys.executable, "-m", "tests.fleet.engine.ray_driver")
WRONG = "a" * 64
KILL_AFTER_SECONDS = 1.5


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with ray_cluster(dashboard=False) as started:
        yield started
    assert started.left_behind() == []


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    write_generated_tables(folder, rows_an_hour=400)
    for seed in range(25):
        import_drawn(folder / f"profiles/{seed}", seed)
    return folder


def said(process: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert process.returncode == 0, process.stderr
    assert process.stderr == "", "Ray's own words are nothing for a user"
    assert process.stdout.startswith("{"), process.stdout
    answer: dict[str, Any] = json.loads(process.stdout)
    return answer


def here(*words: str, settings: dict[str, str]) -> dict[str, Any]:
    """A driver on this machine, which is no node."""
    return said(
        subprocess.run(
            [*DRIVER, *words], capture_output=True, text=True, env=settings, timeout=120, check=False
        )
    )


def without_token(cluster: RayCluster, **settings: str) -> dict[str, str]:
    plain = {name: value for name, value in cluster.settings.items() if not name.startswith("RAY_AUTH")}
    return {**plain, **settings}


def test_the_same_answers_as_in_one_process(cluster: RayCluster, place: Path) -> None:
    answer = said(cluster.run("head", *DRIVER, "gatherings", "auto", str(place)))
    assert answer == {"differ": [], "of": 25, "is_a_tree": True, "rows_of_a_microsecond": 0}


def test_the_same_call_trees_as_in_one_process(cluster: RayCluster, place: Path) -> None:
    answer = said(cluster.run("worker", *DRIVER, "call-trees", "auto", str(place)))
    assert answer == {"same": [True, True], "profiles": 25}


def test_map_reduce_and_errors_from_elsewhere(cluster: RayCluster) -> None:
    """By ray:// from a machine that is no node, with a token that is only in the environment."""
    answer = here("maps", cluster.client, settings=without_token(cluster, RAY_AUTH_TOKEN=cluster.token))
    assert answer == {
        "map": True,
        "reduce": True,
        "failed": ["PlaceError", "nothing at 1", "look elsewhere"],
    }


def test_a_token_from_the_home_folder(cluster: RayCluster, tmp_path: Path) -> None:
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray/auth_token").write_text(f"{cluster.token}\n")
    settings = without_token(cluster, HOME=str(tmp_path))
    assert said(cluster.run("worker", *DRIVER, "maps", cluster.address, settings=settings))["map"]


@pytest.mark.parametrize("way", ["auto", "client"])
def test_a_wrong_or_missing_token_is_told(cluster: RayCluster, way: str) -> None:
    words = ("maps", "auto" if way == "auto" else cluster.client)
    for token, reason in ((WRONG, "refuses ours"), ("", "there is none")):
        settings = without_token(cluster, **({"RAY_AUTH_TOKEN": token} if token else {}))
        if way == "auto":
            answer = said(cluster.run("head", *DRIVER, *words, settings=settings))
        else:
            answer = here(*words, settings=settings)
        assert answer["error"] == "ClusterError"
        assert answer["what"].endswith(f"the cluster wants a token, and {reason}")
        assert "RAY_AUTH_TOKEN" in answer["hint"]
        assert token not in answer["what"] or not token


def test_other_addresses_are_told(cluster: RayCluster) -> None:
    no_node = here("maps", cluster.address, settings=cluster.settings)
    assert "is no node" in no_node["what"] and "ray://" in no_node["hint"]
    head = cluster.hosts.address("head")
    assert "refused" in here("maps", f"{head}:1", settings=cluster.settings)["what"]
    not_a_client_port = here("maps", f"ray://{cluster.address}", settings=cluster.settings)
    assert not_a_client_port["what"].endswith("no Ray cluster answers there")


def killed_in_the_middle(cluster: RayCluster, victim: str, *words: str) -> dict[str, Any]:
    """What a driver on the head says whose cluster loses a node while its tasks run."""
    with cluster.start("head", *DRIVER, *words) as driver:
        assert driver.stdout
        assert driver.stdout.readline() == "begun\n"
        killer = threading.Timer(KILL_AFTER_SECONDS, cluster.kill, [victim])
        killer.start()
        try:
            out, err = driver.communicate(timeout=120)
        finally:
            killer.join()
            driver.kill()
    return said(subprocess.CompletedProcess(words, driver.returncode, out, err))


def test_a_node_killed_in_the_middle_of_a_reduce(cluster: RayCluster) -> None:
    answer = killed_in_the_middle(cluster, "third", "slow-reduce", "auto")
    assert answer["same"]
    assert answer["seconds"] > KILL_AFTER_SECONDS + 1, "it was killed after the work"


def test_a_node_killed_in_the_middle_of_a_gather(cluster: RayCluster, place: Path) -> None:
    answer = killed_in_the_middle(cluster, "worker", "slow-gather", "auto", str(place))
    assert answer["same"] and answer["rows"] == 40
    assert answer["seconds"] > KILL_AFTER_SECONDS + 1, "it was killed after the work"


def test_workers_without_our_code_get_it_and_without_packages_are_told(tmp_path: Path, place: Path) -> None:
    """Modules that a file names are hidden from the workers, as if they were not installed."""
    hidden = tmp_path / "hidden"
    hidden.write_text("necroscope")
    (tmp_path / "sitecustomize.py").write_text(HIDE)
    names = f"{tmp_path}:{Path.cwd()}"
    with ray_cluster(
        ("head",), dashboard=False, settings={"PYTHONPATH": names, "HIDDEN": str(hidden)}
    ) as one:
        answer = said(one.run("head", *DRIVER, "gatherings", "auto", str(place)))
        assert answer["differ"] == []
        hidden.write_text("necroscope duckdb")
        answer = said(one.run("head", *DRIVER, "gatherings", "auto", str(place)))
    assert answer["error"] == "ClusterError"
    assert answer["what"] == "the workers of the cluster lack: duckdb"
    assert one.left_behind() == []


HIDE = """
import importlib.abc, os, pathlib, sys

class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        names = pathlib.Path(os.environ["HIDDEN"]).read_text().split() if "HIDDEN" in os.environ else []
        own = any("py_modules_files" in one for one in sys.path)
        if name.split(".")[0] in names and not (own and name.startswith("necroscope")):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""
