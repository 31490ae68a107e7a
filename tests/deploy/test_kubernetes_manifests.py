"""The kustomize tree is what its source makes, valid, and as modest as it says."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import time
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from deploy.kubernetes.render import HEAD, KUSTOMIZE, LEVELS, rendered_files
from necroscope.kubernetes.event_rules import event_rules
from necroscope.kubernetes.names import COMPONENT, DOMAIN
from necroscope.sources.in_cluster import ACCOUNT
from tests.deploy.manifests import ALL_LEVELS, USER, Level, objects_in, pod_of, shipped
from tests.deploy.renderings import kustomize_build, needs_programs, overlay, renamed_overlay

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/kubernetes.md").read_text()
VERSIONS = ("1.30.0", kubernetes_validate.latest_version())  # the oldest that the chart admits
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: files of another user")
each_level = pytest.mark.parametrize("level", ALL_LEVELS, ids=lambda level: level.name)


@needs_programs
def test_the_files_are_what_the_chart_makes() -> None:
    files = rendered_files()
    stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    others = [path for path in KUSTOMIZE.rglob("*.yaml") if path.read_text().startswith(HEAD)]
    assert (stale, set(others) - files.keys()) == ([], set()), "make deploy-files"


def test_every_level_has_its_files() -> None:
    assert tuple(level.name for level in ALL_LEVELS) == LEVELS
    for folder in ("daemon-sets", "overlays"):
        assert {path.name for path in (KUSTOMIZE / folder).iterdir()} == set(LEVELS)


@needs_programs
@each_level
def test_kustomize_builds_what_the_files_say(level: Level) -> None:
    assert overlay(level.name) == shipped(level)


@needs_programs
def test_the_pod_monitor_is_added_by_a_component(tmp_path: Path) -> None:
    shutil.copytree(KUSTOMIZE, tmp_path / "kubernetes", ignore=shutil.ignore_patterns("*.py"))
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "kustomization.yaml").write_text(
        "resources: [../kubernetes/overlays/perf]\ncomponents: [../kubernetes/components/pod-monitor]\n"
        "images: [{name: necroscope, newName: registry.example/necroscope, newTag: '7'}]\n"
    )
    objects = kustomize_build(mine)
    assert objects["PodMonitor", "necroscope"]["spec"]["podMetricsEndpoints"][0]["port"] == "metrics"
    pod = objects["DaemonSet", "necroscope"]["spec"]["template"]["spec"]
    images = {one["image"] for one in (*pod["initContainers"], *pod["containers"])}
    assert images == {"registry.example/necroscope:7"}


@needs_programs
def test_the_policies_hold_under_other_names(tmp_path: Path) -> None:
    """A policy that fits no account, or that no binding names, would let everything through."""
    objects = kustomize_build(renamed_overlay(tmp_path))
    (subject,) = objects["ClusterRoleBinding", "x-necroscope"]["subjects"]
    account = f"system:serviceaccount:{subject['namespace']}:{subject['name']}"
    assert account == "system:serviceaccount:elsewhere:x-necroscope"
    policies = {name: one for (kind, name), one in objects.items() if kind == "ValidatingAdmissionPolicy"}
    bound = {
        one["spec"]["policyName"]
        for (kind, _), one in objects.items()
        if kind == "ValidatingAdmissionPolicyBinding"
    }
    assert len(policies) == 2 and bound == policies.keys()
    assert objects["NetworkPolicy", "x-necroscope"]["metadata"]["namespace"] == "elsewhere"
    for policy in policies.values():
        (condition,) = policy["spec"]["matchConditions"]
        assert (pattern := re.search(r"matches\('(.*)'\)", condition["expression"]))
        assert re.search(pattern[1], account)
        assert not re.search(pattern[1], "system:serviceaccount:kube-system:node-problem-detector")


@pytest.mark.parametrize("version", VERSIONS)
@each_level
def test_every_object_is_valid(level: Level, version: str) -> None:
    # PodMonitor is a kind of the Prometheus operator, for which there is no schema here.
    for document in shipped(level).values():
        kubernetes_validate.validate(document, version, strict=True)


@each_level
def test_every_container_gives_up_what_it_can(level: Level) -> None:
    pod = pod_of(level)
    assert not pod["automountServiceAccountToken"] and "hostNetwork" not in pod and "hostIPC" not in pod
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in (*pod["initContainers"], *pod["containers"]):
        security = container["securityContext"]
        assert security["capabilities"]["drop"] == ["ALL"]
        assert security["readOnlyRootFilesystem"]
        assert not (security["privileged"] or security["allowPrivilegeEscalation"])
        assert container["resources"]["limits"].keys() == {"cpu", "memory"}


@each_level
def test_the_recorder_has_no_more_than_its_level(level: Level) -> None:
    container = pod_of(level)["containers"][0]
    added = set(container["securityContext"]["capabilities"].get("add", ()))
    if level.owner == 0:
        assert added == set(level.capabilities) and container["command"] == ["necroscope"]
    elif level.capabilities:
        kept = ",+".join(("-all", *(name.lower() for name in level.capabilities)))
        assert {f"--reuid={USER}", f"--inh-caps={kept}", f"--ambient-caps={kept}"} <= set(
            container["command"]
        )
        assert added == {*level.capabilities, "SETUID", "SETGID"}
    else:
        assert not added and container["securityContext"]["runAsNonRoot"]


def test_the_cluster_role_has_no_list_no_watch_and_no_update() -> None:
    rules = shipped(ALL_LEVELS[0])["ClusterRole", "necroscope"]["rules"]
    granted = {(rule["resources"][0], *rule["verbs"]) for rule in rules}
    assert granted == {("nodes", "get"), ("nodes/status", "patch"), ("events", "create", "patch")}


def test_the_manifests_and_the_program_agree_on_names() -> None:
    level = ALL_LEVELS[0]
    policies = [one for one in shipped(level).values() if one["kind"] == "ValidatingAdmissionPolicy"]
    text = str(policies)
    rules = event_rules().values()
    of_pods = sorted(rule.reason for rule in rules if rule.tells_pods)
    of_nodes = sorted(rule.reason for rule in rules)
    assert f"'Pod' ? {of_pods} : {of_nodes})" in text
    assert f"startsWith('{DOMAIN}/')" in text and f"== '{COMPONENT}'" in text
    mounts = {one["name"]: one["mountPath"] for one in pod_of(level)["containers"][0]["volumeMounts"]}
    assert mounts["account"] == str(ACCOUNT)


@each_level
def test_the_page_tells_what_each_level_takes(level: Level) -> None:
    assert f"| `{level.name}` |" in PAGE
    for capability in level.capabilities:
        assert f"| `{capability}` |" in PAGE, "what it buys"


@each_level
def test_the_recorder_has_a_user_of_its_own(level: Level) -> None:
    """nobody (65534) is also whoever else has no user of its own, in other pods and on the node."""
    pod = pod_of(level)
    assert pod["securityContext"]["fsGroup"] == USER
    assert 65519 < USER < 65532, "beyond those that systemd hands out, and not another image's"
    assert f"user {USER}" in PAGE
    assert "65534" not in str(shipped(level))


@needs_root
@pytest.mark.parametrize("before", [0, USER, 65534])
@each_level
def test_a_store_that_another_user_wrote_is_taken_over(level: Level, before: int, tmp_path: Path) -> None:
    store, outside = tmp_path / "store", tmp_path / "outside"
    (store / "node/segment").mkdir(parents=True)
    (store / "node/segment/segment.json").write_text("{}")
    (store / "-R").write_text("")
    outside.write_text("")
    (store / "link").symlink_to(outside)
    (store / "node/closed/inner").mkdir(parents=True)
    for path in (store, *store.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o751)
        os.chown(path, before, before, follow_symlinks=False)
    (store / "node/closed").chmod(0)
    prepare(level, store)
    owner = level.owner
    assert {path.lstat().st_uid for path in (store, *store.rglob("*"))} == {owner}
    assert (store / "node/segment/segment.json").stat().st_gid == owner
    assert stat.S_IMODE(store.stat().st_mode) == 0o750
    assert outside.stat().st_uid == 0


@needs_root
@each_level
def test_a_new_store_is_for_the_recorder_alone(level: Level, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir(mode=0o755)
    prepare(level, tmp_path / "store")
    prepare(level, tmp_path / "store")  # as at every start
    status = (tmp_path / "store").stat()
    assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (level.owner, 0o750)


@needs_root
@each_level
def test_a_takeover_that_was_killed_is_completed(level: Level, tmp_path: Path) -> None:
    store = tmp_path / "store"
    (store / "node").mkdir(parents=True)
    os.chown(store / "node", 65534, 65534)
    store.chmod(0o700)  # as it is in the middle
    prepare(level, store)
    assert {path.stat().st_uid for path in (store, store / "node")} == {level.owner}


@needs_root
@each_level
def test_records_of_fixes_are_left_alone(level: Level, tmp_path: Path) -> None:
    """Older versions kept them in the store; now they are in a folder that no pod has."""
    store = tmp_path / "store"
    (store / ".fixes/1").mkdir(parents=True)
    os.chown(store, 1, 1)
    prepare(level, store)
    assert {path.stat().st_uid for path in (store / ".fixes", store / ".fixes/1")} == {0}
    places = {volume.get("hostPath", {}).get("path") for volume in pod_of(level)["volumes"]}
    assert not [place for place in places if place and "fixes" in place]


def prepare(level: Level, store: Path) -> None:
    """What the first container does, with its capabilities."""
    container = pod_of(level)["initContainers"][0]
    command = [word.replace("/var/lib/necroscope", str(store)) for word in container["command"]]
    added = container["securityContext"]["capabilities"]["add"]
    kept = ",+".join(("-all", *(name.lower() for name in added)))
    subprocess.run(["setpriv", "--no-new-privs", f"--bounding-set={kept}", *command], check=True)


@each_level
def test_liveness_depends_on_no_port(level: Level, tmp_path: Path) -> None:
    """What other pods can reach, they can keep busy; then the kubelet would restart the recorder."""
    (container,) = pod_of(level)["containers"]
    probe = container["livenessProbe"]
    assert "exec" in probe and not probe.keys() & {"httpGet", "tcpSocket", "grpc"}
    heartbeat = next(word for word in container["args"] if word.startswith("--heartbeat="))
    path = heartbeat.partition("=")[2]
    folders = [mount["mountPath"] for mount in container["volumeMounts"] if mount["name"] == "heartbeat"]
    assert folders == [str(Path(path).parent)]
    file = tmp_path / "heartbeat"
    words = [word.replace(path, str(file)) for word in probe["exec"]["command"]]
    assert words != probe["exec"]["command"]

    def is_alive() -> bool:
        return subprocess.run(words, check=False, capture_output=True).returncode == 0

    assert not is_alive(), "it has never read the node"
    file.touch()
    assert is_alive()
    os.utime(file, (time.time() - 110, time.time() - 110))
    assert is_alive()
    os.utime(file, (time.time() - 130, time.time() - 130))
    assert not is_alive()


@each_level
def test_only_prometheus_reaches_the_metrics(level: Level) -> None:
    policy = shipped(level)["NetworkPolicy", "necroscope"]["spec"]
    template = shipped(level)["DaemonSet", "necroscope"]["spec"]["template"]
    selected = policy["podSelector"]["matchLabels"]
    assert selected.items() <= template["metadata"]["labels"].items()
    assert "hostNetwork" not in template["spec"], "no policy holds for those"
    (rule,) = policy["ingress"]
    (port,) = template["spec"]["containers"][0]["ports"]
    assert rule["ports"] == [{"protocol": "TCP", "port": port["containerPort"]}]
    (peer,) = rule["from"]
    assert peer["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "monitoring"}
    repro = yaml.safe_load((KUSTOMIZE / "repro/recorder.yaml").read_text())
    changed = {one["path"].rpartition("/")[2].replace("~1", "/") for one in repro if "labels" in one["path"]}
    assert not changed & selected.keys(), "it holds for reserved nodes, too"


def test_objects_are_told_apart() -> None:
    with pytest.raises(AssertionError):
        objects_in("kind: A\nmetadata: {name: x}\n---\nkind: A\nmetadata: {name: x}\n")
