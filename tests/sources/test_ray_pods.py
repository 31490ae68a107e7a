"""Ray pods found by their processes, for all that a kubelet and a kernel may call their cgroups."""

from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.sources.host import Host
from necroscope.sources.ray_pods import NodePod, find_ray_pods, parse_log_folder, pod_uid

UID = "0f1e2d3c-4b5a-4978-8697-a5b4c3d2e1f0"
SYSTEMD = UID.replace("-", "_")


@pytest.mark.parametrize(
    "path",
    [
        f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{SYSTEMD}.slice/cri-containerd-ab.scope",
        f"0::/kubepods.slice/kubepods-pod{SYSTEMD}.slice/crio-ab.scope",
        f"0::/../kubepods-besteffort-pod{SYSTEMD}.slice/cri-containerd-ab.scope",
        f"0::/kubepods/burstable/pod{UID}/ab",
        f"12:memory:/kubepods/pod{UID}/ab\n11:cpuset:/kubepods/pod{UID}/ab",
        f"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{SYSTEMD}.slice/cri-containerd-ab.scope",
        f"0::/kubepods/burstable/pod{UID}",
    ],
)
def test_the_uid_in_the_path_of_a_cgroup(path: str) -> None:
    assert pod_uid(f"{path}\n") == UID


@pytest.mark.parametrize(
    "path", ["0::/", "0::/user.slice", f"0::/pod{UID}0", f"0::/{UID}", "0::/podman-12.scope"]
)
def test_what_is_in_no_pod(path: str) -> None:
    assert pod_uid(f"{path}\n") == ""


def test_the_kubelets_folder_of_logs() -> None:
    assert parse_log_folder(f"team-a_ray-worker-0_{UID}") == NodePod("team-a", "ray-worker-0", UID)
    assert parse_log_folder("lost+found") is None
    assert parse_log_folder("a__b") is None


def process(root: Path, pid: int, comm: str, cgroup: str) -> None:
    folder = root / f"proc/{pid}"
    folder.mkdir(parents=True)
    (folder / "comm").write_text(f"{comm}\n")
    (folder / "cgroup").write_text(f"{cgroup}\n")


def test_the_pods_with_a_raylet_and_no_others(tmp_path: Path) -> None:
    other = "11111111-4b5a-4978-8697-a5b4c3d2e1f0"
    process(tmp_path, 10, "raylet", f"0::/kubepods/pod{UID}/ab")
    process(tmp_path, 11, "raylet", f"0::/kubepods/pod{UID}/cd")
    process(tmp_path, 12, "raylet", "0::/user.slice")
    process(tmp_path, 13, "raylet", "0::/kubepods/pod22222222-4b5a-4978-8697-a5b4c3d2e1f0/ab")  # no logs
    process(tmp_path, 14, "python3", f"0::/kubepods/pod{other}/ab")
    for name in (f"team-a_ray-worker-0_{UID}", f"team-a_web-0_{other}", "lost+found"):
        (tmp_path / "var/log/pods" / name).mkdir(parents=True)
    assert find_ray_pods(Host(tmp_path)).value == [NodePod("team-a", "ray-worker-0", UID)]


def test_pods_that_cannot_be_named_are_not_no_pods(tmp_path: Path) -> None:
    process(tmp_path, 10, "raylet", "0::/user.slice")
    assert find_ray_pods(Host(tmp_path)).value == []
    process(tmp_path, 11, "raylet", f"0::/kubepods/pod{UID}/ab")
    found = find_ray_pods(Host(tmp_path))
    assert found.value is None
    assert "/var/log/pods" in found.reason


def test_where_the_folder_of_logs_is_roots_alone_the_links_to_it_tell(tmp_path: Path) -> None:
    process(tmp_path, 10, "raylet", f"0::/kubepods/pod{UID}/ab")
    links = tmp_path / "var/log/containers"
    links.mkdir(parents=True)
    folder = f"/var/log/pods/team-a_ray-worker-0_{UID}"
    (links / "ray-worker-0_team-a_ray-0a.log").symlink_to(f"{folder}/ray/0.log")
    (links / "ray-worker-0_team-a_side-0b.log").symlink_to(f"{folder}/side/0.log")
    (links / "stray.log").write_text("")
    (links / "odd.log").symlink_to("/var/log/pods/x")
    assert find_ray_pods(Host(tmp_path)).value == [NodePod("team-a", "ray-worker-0", UID)]
