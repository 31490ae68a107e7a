"""Snapshots of trees: what is in them, what is not, and the file."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest

from necroscope.errors import NecroscopeError
from necroscope.inventory.sections.catalog import SECTIONS
from necroscope.inventory.sections.labels import read_label_file
from necroscope.inventory.snapshot import read_snapshot, snapshot_text, take_snapshot
from necroscope.model.snapshot import Snapshot
from necroscope.sources.host import Host

HOSTS = Path(__file__).parents[1] / "hosts"
UNITS = "usr/lib/systemd/system"

# Each is planted in a place of its own. PLANT-N looks like nothing: only its place gives it away.
AWS = "AKIAIOSFODNN7EXAMPLE"
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJub2RlIn0.c2lnbmF0dXJl"
GITHUB = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
KUBEADM = "abcdef.0123456789abcdef"
RANDOM = "f3b9c2d41a7e5f60a1b2c3d4e5f60718"

TREE = {
    "etc/hostname": "node-1\n",
    "etc/os-release": 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian 12"\n',
    "etc/ecs/ecs.config": (
        'ECS_CLUSTER=blue\nECS_ENGINE_AUTH_DATA={"hub":{"username":"u","password":"PLANT-1"}}\n'
        f"DB_PASSWORD=PLANT-2 with blanks\nTRACKING_ID={RANDOM}\n"
    ),
    f"{UNITS}/ecs.service": (
        "[Service]\nEnvironmentFile=-/etc/ecs/ecs.config\nEnvironmentFile=/etc/linked\n"
        f'Environment="API_TOKEN=PLANT-3 and more" MODE=fast\nEnvironment=HOME_KEY={AWS_SECRET}\n'
        f"ExecStart=/usr/bin/ecs --token=PLANT-4 --key {AWS}\n[Install]\nWantedBy=multi-user.target\n"
    ),
    "etc/systemd/system/ecs.service.d/10.conf": (
        "[Service]\nExecStart=\nExecStart=/usr/bin/ecs --password PLANT-5 -p PLANT-6 --cluster blue\n"
        f"Environment=HTTPS_PROXY=http://me:PLANT-7@proxy:3128 JOIN={KUBEADM}\n"
    ),
    f"{UNITS}/setup.service": (
        "[Service]\nType=oneshot\nExecStart=/opt/setup.sh --secret=PLANT-8\n[Install]\nWantedBy=x.target\n"
    ),
    "opt/setup.sh": (
        f"#!/bin/sh\nexport TOKEN=PLANT-9 {JWT}\nsystemctl enable --now ecs\ncp a /etc/ecs/ecs.config\n"
    ),
    f"{UNITS}/kubelet.service": (
        "[Service]\nEnvironment=EXTRA=--bootstrap-token=PLANT-10\n"
        f"ExecStart=/usr/bin/kubelet --node-ip 10.0.0.1 --max-pods=110 $EXTRA --cloud {JWT}\n"
    ),
    "var/lib/kubelet/config.yaml": (
        "kind: KubeletConfiguration\nauthentication:\n  anonymous:\n    enabled: false\n"
        "clusterDNS:\n- 10.96.0.10\n"
        "staticPodURLHeader:\n  Authorization:\n  - Bearer PLANT11aaa\n  X-Token: ['PLANT-12']\n"
        f"registerWithTaints:\n- key: a\n  value: {GITHUB}\n"
    ),
    "var/lib/kubelet/kubeconfig": "client-key-data: PLANT-13\n",
    "etc/containerd/config.toml": (
        'version = 2\n[plugins."io.containerd.grpc.v1.cri".registry.configs."hub".auth]\n'
        'username = "PLANT-14"\npassword = "PLANT-15"\nauth = "UExBTlQtMTY6eA=="\n'
        '[plugins."io.containerd.grpc.v1.cri".containerd]\nsnapshotter = "overlayfs"\n'
    ),
    "etc/docker/daemon.json": (
        '{"log-opts": {"splunk-token": "PLANT-17"}, "proxies": {"http-proxy": "http://u:PLANT-18@p"},'
        ' "storage-driver": "overlay2"}'
    ),
    "etc/crio/crio.conf": (
        '[crio.image]\nglobal_auth_file = "/etc/crio/auth.json"\nregistry_password = "PLANT-19"\n'
    ),
    "proc/cmdline": f"root=UUID=4f68bce3-e8cd-4db1-96e7-fbcaf984b709 quiet agent.token=PLANT-20 x={AWS}\n",
    "proc/sys/kernel/core_pattern": "|/usr/bin/dump --api-key PLANT-21 %p\n",
    "proc/sys/net/ipv4/tcp_fastopen_key": "1f2e3d4c-PLANT-22\n",
    "proc/sys/net/ipv6/conf/default/stable_secret": "2001:PLANT-23\n",
    "proc/sys/net/ipv6/conf/default/mtu": "1500\n",
    "proc/1/mountinfo": (
        "21 1 0:20 / / rw,relatime - ext4 /dev/sda1 rw\n"
        "22 21 0:21 / /mnt/share rw,relatime - cifs //srv/x rw,username=me,password=PLANT-24,uid=0\n"
        "23 21 0:22 / /mnt/ceph rw - ceph mon:/ rw,name=admin,secret=PLANT-25\n"
    ),
    "etc/fstab": "//srv/x /mnt/share cifs username=me,password=PLANT-26 0 0\n",
    "sys/module/agent/parameters/auth_key": "PLANT-27\n",
    "sys/module/agent/parameters/level": "3\n",
    "run/cloud-init/instance-data.json": json.dumps(
        {
            "v1": {"cloud_name": "aws", "availability_zone": "eu-west-1a", "password": "PLANT-28"},
            "ds": {"meta_data": {"instance-type": "m5.large"}, "user_data": "PLANT-29"},
        }
    ),
    "run/cloud-init/status.json": json.dumps(
        {"v1": {"init": {"errors": ["failed with PLANT-30"], "start": 1.0, "finished": 2.0}}}
    ),
    "var/lib/cloud/instance/user-data.txt": "#!/bin/sh\nPLANT-31\n",
    f"{UNITS}/leaky.service": (
        "[Service]\nEnvironmentFile=/etc/leaky.env\nEnvironmentFile=/etc/pipe.env\nExecStart=/bin/leaky\n"
    ),
    "etc/leaky.env": (
        'SIGNED="-----BEGIN PRIVATE KEY-----\nPLANT34QQ=\n-----END PRIVATE KEY-----"\n'
        'DB_PASS="first\nx=PLANT-35"\nLDAP_BINDPW=PLANT-36\nMYSQL_PWD=PLANT-37\nHTTP_AUTHORIZATION=PLANT-38\n'
        "SNMP_COMMUNITY=PLANT-39\nCALL=-u bob:PLANT-40\nDIAL=-p PLANT-41\n"
        "CS=Server=x;Password=a PLANT-42;D=x\n"
        "ORA=jdbc:oracle:thin:scott/PLANT-43@//db\nGO=bob:a/PLANT-44@tcp(db:3306)/x\nSMB=//bob:PLANT-45@srv/x\n"
        "XML=<password>PLANT-46</password>\nCOLOUR=blue\nPASSWORD_FILE=/PLANT-47\nPIN=PLANT-48\n"
    ),
    "etc/systemd/system/leaky.service.d/10.conf": (
        "[Service]\nSetCredential=db.password:correct PLANT-49 battery\n"
        "SetCredentialEncrypted=db: \\\n  PLANT-50 \\\n  PLANT-51\n"
        'Environment=A_PASSWORD=pre"x PLANT-52"\nEnvironment="B_TOKEN=a PLANT-53" LEVEL=high\n'
        "ExecStart=\nExecStart=/bin/a -p 'a PLANT-54' --user 'me:a PLANT-55' --level high\n"
        'ExecStart=/bin/sh -c "agent --password \\"a PLANT-56\\" --level high"\n'
        "ExecStart=/bin/sh -c 'mysql -uroot -pPLANT-57; sshpass -pPLANT-58 x; curl -su admin:PLANT-59 h'\n"
        "ExecStart=/bin/sh -c 'redis-cli -a PLANT-60; snmpget -c PLANT-61 h; ipmitool -P PLANT-62 x'\n"
        "ExecStart=/bin/sh -c 'ldapsearch -w PLANT-63; zip -P PLANT-64 a b; openssl enc -k PLANT-65'\n"
        "ExecStart=/bin/sh -c 'smbclient -U bob%PLANT-66 //h/s; echo root:PLANT-67 | chpasswd'\n"
        'ExecStart=/bin/a {\\"password\\":\\"a PLANT-68\\"} ["--password", "PLANT-69"]\n'
        "[X-Mine]\nPassword=a PLANT-70\n"
    ),
    "etc/kubernetes/kubelet/config.json.d/1.conf": (
        '{"maxPods": 58, "registerWithTaints": [{"key": "gpu"}], "extra": ["--token", "PLANT-71"]}'
    ),
    "etc/containerd/conf.d/1.toml": (
        'args = ["--password", "PLANT-72"]\nenv = ["A_PASSWORD=a PLANT-73", "B=c"]\n'
    ),
    "etc/shadow": "root:PLANT-32:1::::::\nPASS=PLANT-33\n",
}
PLANTS = [*(f"PLANT-{n}" for n in range(1, 34)), "PLANT11", "UExBTlQtMTY6eA", AWS, AWS_SECRET, JWT, GITHUB]
PLANTS += [KUBEADM, RANDOM, "PLANT34", *(f"PLANT-{n}" for n in range(35, 74))]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in TREE.items():
        (tmp_path / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / name).write_text(text)
    root = tmp_path / "root"
    (root / "etc/linked").symlink_to("/etc/shadow")
    os.mkfifo(root / "etc/pipe.env")
    for unit in ("ecs.service", "setup.service"):
        wants = root / "etc/systemd/system/multi-user.target.wants"
        wants.mkdir(parents=True, exist_ok=True)
        (wants / unit).symlink_to(f"/{UNITS}/{unit}")
    return root


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    path = tmp_path / "labels.toml"
    path.write_text('team = "blue"\n[db]\npassword = "PLANT-LABEL"\n')
    return path


def test_no_planted_secret_appears(root: Path, labels: Path) -> None:
    text = snapshot_text(take_snapshot(Host(root), read_label_file(labels)))
    assert [plant for plant in [*PLANTS, "PLANT-LABEL"] if plant in text] == []
    assert "PLANT" not in text


def test_what_is_no_secret_is_there(root: Path, labels: Path) -> None:
    facts = take_snapshot(Host(root), read_label_file(labels)).facts
    assert facts["labels"] == {
        "provider": "aws",
        "zone": "eu-west-1a",
        "instance_type": "m5.large",
        "image": "Debian 12",
        "os": "debian 12",
        "team": "blue",
        "db/password": "<redacted>",
    }
    assert facts["environment"]["ecs.service/ECS_CLUSTER"] == "blue"
    assert facts["environment"]["ecs.service/MODE"] == "fast"
    drop_in = facts["units"]["ecs.service/drop-in /etc/systemd/system/ecs.service.d/10.conf"]
    assert "--password <redacted> -p <redacted> --cluster blue" in drop_in
    assert facts["units"]["ecs.service/enabled"] == "enabled"
    assert facts["kubelet"]["flags/max-pods"] == "110"
    assert facts["kubelet"]["config/authentication/anonymous/enabled"] == "false"
    assert facts["kubelet"]["config/clusterDNS"] == "10.96.0.10"
    assert (
        facts["runtime"]["containerd/plugins/io.containerd.grpc.v1.cri/containerd/snapshotter"] == "overlayfs"
    )
    assert facts["runtime"]["docker/storage-driver"] == "overlay2"
    assert facts["kernel"]["command-line/root"] == "UUID=*"
    assert facts["kernel"]["command-line/quiet"] == ""
    assert facts["sysctls"] == {
        "kernel.core_pattern": "|/usr/bin/dump --api-key <redacted> %p",
        "net.ipv6.conf.default.mtu": "1500",
    }
    assert facts["modules"]["agent/level"] == "3"
    assert facts["mounts"]["/"] == "ext4 rw,relatime"
    assert facts["bootstrap"]["cloud-init/init"] == "failed (1 error)"
    assert facts["bootstrap"]["setup.service/names"] == "/etc/ecs/ecs.config /opt/setup.sh ecs.service"


def test_what_stands_beside_a_secret_is_there(root: Path) -> None:
    facts = take_snapshot(Host(root)).facts
    drop_in = facts["units"]["leaky.service/drop-in /etc/systemd/system/leaky.service.d/10.conf"]
    assert drop_in.count("--level high") == 2
    assert "LEVEL=high" in drop_in
    assert facts["environment"]["leaky.service/COLOUR"] == "blue"
    assert "leaky.service/x" not in facts["environment"]
    assert facts["kubelet"]["config-dir/1.conf/maxPods"] == "58"
    assert facts["kubelet"]["config-dir/1.conf/registerWithTaints/0/key"] == "gpu"
    assert facts["runtime"]["containerd/conf.d/1.toml/env"] == "A_PASSWORD=<redacted>, B=c"
    assert facts["mounts"]["fstab /mnt/share"] == "cifs username=me,password=<redacted>"


def test_a_tree_is_not_running_and_says_so(root: Path) -> None:
    snapshot = take_snapshot(Host(root))
    assert snapshot.host == "node-1"
    assert snapshot.not_read["units"].endswith("whether they run: not running")
    assert snapshot.not_read["memory"] == snapshot.not_read["interrupts"] == "not running"
    assert snapshot.not_read["packages"].startswith("no package database")
    (root / "proc/1/mountinfo").unlink()
    (root / "etc/timezone").write_text("UTC\n")
    image = take_snapshot(Host(root))
    for section in ("kernel", "mounts", "clock"):  # partly there, and what is missing is not known
        assert image.facts[section]
        assert "not running" in image.not_read[section]
    assert "/etc/linked holds secrets" in snapshot.not_read["environment"]
    assert "/etc/pipe.env is no regular file" in snapshot.not_read["environment"]


def test_twice_is_the_same(root: Path) -> None:
    assert snapshot_text(take_snapshot(Host(root))) == snapshot_text(take_snapshot(Host(root)))


@pytest.mark.parametrize("name", ["debian-6.1-v2", "debian-5.10-v1", "debian-6.1-hybrid"])
def test_recorded_hosts(name: str) -> None:
    snapshot = take_snapshot(Host(HOSTS / name))
    assert snapshot.host == f"node-{name.rpartition('-')[2]}"
    assert snapshot.facts["cgroups"]["layout"] == name.rpartition("-")[2]
    assert snapshot.facts["nics"]["eth0/driver"] == "virtio_net"
    assert snapshot.facts["memory"] == {"total": "1 GiB"}
    assert set(snapshot.facts) | set(snapshot.not_read) == set(SECTIONS)
    assert "kubelet" not in snapshot.facts, "a tree without a system says nothing about its kubelet"


def test_one_broken_section_loses_no_other(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(subject: object) -> None:
        raise RuntimeError("password=hunter2")

    monkeypatch.setitem(SECTIONS, "kernel", breaks)
    snapshot = take_snapshot(Host(root))
    assert snapshot.not_read["kernel"] == "unreadable: internal error: RuntimeError: password=<redacted>"
    assert "kernel" not in snapshot.facts
    assert snapshot.facts["runtime"]


def test_hostile_trees_neither_crash_nor_hang(root: Path) -> None:
    for index, name in enumerate(TREE):
        path = root / name
        path.unlink()
        kind = index % 5
        if kind == 0:
            path.write_bytes(os.urandom(5000))
        elif kind == 1:
            path.write_text("")
        elif kind == 2:
            os.mkfifo(path)
        elif kind == 3:
            path.symlink_to(path.name)
        else:
            path.write_text("[{" * 50_000 + "\n" + "a" + " " * 100_000 + "b\n")
    with suppress(OSError):  # a file system may refuse it
        (root / os.fsdecode(b"usr/lib/systemd/system/x\xff.service")).write_text("[Service]\n")
    snapshot = take_snapshot(Host(root))
    assert not [reason for reason in snapshot.not_read.values() if "internal error" in reason]
    assert read_back(root, snapshot) == snapshot


def test_the_file_is_read_back(root: Path) -> None:
    snapshot = take_snapshot(Host(root))
    assert read_back(root, snapshot) == snapshot


def read_back(folder: Path, snapshot: Snapshot) -> Snapshot:
    path = folder / "snapshot.json"
    path.write_text(snapshot_text(snapshot))
    return read_snapshot(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not JSON",
        "[]",
        "{}",
        '{"kind": "necroscope-snapshot", "schema": 2, "host": "", "facts": {}, "not_read": {}}',
        '{"kind": "necroscope-snapshot", "schema": 1, "host": "", "facts": {"a": {"b": 1}}, "not_read": {}}',
        '{"kind": "necroscope-snapshot", "schema": 1, "host": "", "facts": {"a": 1}, "not_read": {}}',
        '{"kind": "necroscope-snapshot", "schema": 1, "host": 7, "facts": {}, "not_read": {}}',
        '{"kind": "necroscope-snapshot", "schema": 1, "host": "", "facts": {}, "not_read": {"a": 1}}',
        "[" * 100_000,
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(NecroscopeError):
        read_snapshot(tmp_path / "file")


def test_a_snapshot_that_read_everything_may_leave_out_what_it_did_not(tmp_path: Path) -> None:
    text = '{"kind": "necroscope-snapshot", "schema": 1, "host": "a", "facts": {"b": {"c": "d"}}}'
    (tmp_path / "file").write_text(text)
    assert read_snapshot(tmp_path / "file") == Snapshot("a", {"b": {"c": "d"}}, {})
