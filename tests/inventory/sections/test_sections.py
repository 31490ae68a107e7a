"""Sections on text as machines have it, and on what is not there."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from necroscope.inventory.drift.fact_table import FactTable
from necroscope.inventory.redaction.redact import redact_facts
from necroscope.inventory.sections.bootstrap import read_bootstrap
from necroscope.inventory.sections.cgroups import parse_switched_off
from necroscope.inventory.sections.cpu import parse_cpuinfo
from necroscope.inventory.sections.flat import flatten
from necroscope.inventory.sections.gathered import Gathered
from necroscope.inventory.sections.interrupts import read_interrupts
from necroscope.inventory.sections.kernel import parse_command_line, parse_kernel_config
from necroscope.inventory.sections.kubelet import parse_flags
from necroscope.inventory.sections.labels import read_labels
from necroscope.inventory.sections.memory import parse_swap_kinds, parse_total_gib
from necroscope.inventory.sections.modules import read_modules
from necroscope.inventory.sections.mounts import normal_options, parse_fstab, parse_mounts, read_mounts
from necroscope.inventory.sections.nics import read_nics
from necroscope.inventory.sections.subject import Subject
from necroscope.inventory.sections.sysctls import normal_value, read_sysctls
from necroscope.inventory.sections.unit_times import object_path
from necroscope.inventory.sections.units import digest, normal_text
from necroscope.inventory.sections.volatile import rounded
from necroscope.inventory.snapshot import take_snapshot
from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host
from necroscope.sources.script_files import parse_names


def plant(root: Path, files: Mapping[str, str]) -> Subject:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return Subject(Host(root))


def test_command_line() -> None:
    text = (
        "BOOT_IMAGE=/vmlinuz-6.1 root=PARTUUID=1f2e3d4c-01 ro console=tty0 console=ttyS0,115200"
        ' dyndbg="file a.c +p" resume=UUID=4f68bce3-e8cd-4db1-96e7-fbcaf984b709 initrd=/a.img'
        " systemd.machine_id=abc -- --init-flag\n"
    )
    assert parse_command_line(text) == {
        "root": "PARTUUID=*",
        "ro": "",
        "console": "tty0 ttyS0,115200",
        "dyndbg": "file a.c +p",
        "resume": "UUID=*",
        "--": "--init-flag",
    }


def test_kernel_config_of_interest() -> None:
    text = 'CONFIG_HZ=250\nCONFIG_MEMCG=y\n# CONFIG_PREEMPT is not set\nCONFIG_CC_VERSION_TEXT="gcc"\n'
    assert parse_kernel_config(text) == {"CONFIG_HZ": "250", "CONFIG_MEMCG": "y"}


def test_controllers_that_are_switched_off() -> None:
    text = "#subsys_name\thierarchy\tnum_cgroups\tenabled\nmemory\t0\t1\t0\ncpu\t2\t1\t1\n"
    assert parse_switched_off(text) == ("memory",)


def test_one_kind_of_core_that_differs_shows() -> None:
    text = "model name\t: A\nmicrocode\t: 0x1\n\nmodel name\t: A\nmicrocode\t: 0x2\n"
    assert parse_cpuinfo(text) == {"model": "A", "microcode": "0x1 + 0x2"}


def test_memory() -> None:
    assert parse_total_gib("MemTotal:       16393932 kB\nMemFree: 1 kB\n") == "16 GiB"
    assert parse_total_gib("MemTotal:       16393000 kB\n") == "16 GiB"
    swaps = "Filename Type Size Used Priority\n/dev/zram0 partition 100 7 5\n/swap file 100 9 -2\n"
    assert parse_swap_kinds(swaps) == "file (priority -2), zram (priority 5)"
    assert parse_swap_kinds("Filename Type Size Used Priority\n") == "none"


def test_numbers_that_follow_the_memory_are_rounded() -> None:
    assert [rounded(text) for text in ("192699", "192703", "42", "max", "9" * 20)] == [
        *("~190000", "~190000", "42", "max", "9" * 20)
    ]
    assert normal_value("net/ipv4/tcp_mem", "287853 383806 575706") == "~290000 ~380000 ~580000"
    assert normal_value("net/core/somaxconn", "4096") == "4096"
    assert normal_value("net/ipv4/tcp_available_congestion_control", "reno cubic bbr") == "bbr cubic reno"


def test_sysctls_of_containers_counts_and_orders_are_left_out(tmp_path: Path) -> None:
    files = {
        "proc/sys/net/ipv4/conf/all/rp_filter": "1\n",
        "proc/sys/net/ipv4/conf/veth0/rp_filter": "0\n",
        "proc/sys/net/ipv4/conf/eth0.100/rp_filter": "2\n",
        "proc/sys/kernel/ns_last_pid": "77\n",
        "proc/sys/kernel/random/boot_id": "x\n",
        "proc/sys/fs/aio-max-nr": "65536\n",
        "proc/sys/fs/aio-nr": "3\n",
        "proc/sys/fs/binfmt_misc/status": "enabled\n",
        "sys/class/net/eth0.100/device/driver/x": "",
    }
    subject = plant(tmp_path, files)
    assert read_sysctls(subject).value == {
        "net.ipv4.conf.all.rp_filter": "1",
        "net.ipv4.conf.eth0/100.rp_filter": "2",  # as sysctl writes it
        "fs.aio-max-nr": "65536",
    }


MOUNTS = r"""21 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw,discard
22 21 0:5 / /dev rw,nosuid - devtmpfs udev rw,size=8111111k,nr_inodes=2027777,mode=755
23 21 0:40 / /var/lib/kubelet/pods/4f68/volumes/x rw - tmpfs tmpfs rw,size=100k
24 21 0:41 / /run/containerd/io/rootfs rw - overlay overlay rw,lowerdir=/a:/b
25 21 7:1 / /snap/core/1 ro - squashfs /dev/loop1 ro
29 21 0:45 / /mnt/auto rw - autofs systemd-1 rw,fd=30
30 29 0:46 / /mnt/auto rw - nfs4 10.0.0.1:/y rw
31 29 0:47 / /mnt/auto/deeper rw - tmpfs tmpfs rw
32 21 0:48 / /mnt/automatic rw - tmpfs tmpfs rw
33 21 0:49 / /data/kubelet/pods/4f68/volumes/x rw - tmpfs tmpfs rw
34 21 0:50 / /data/io.containerd.runtime.v2.task/x rw - overlay overlay rw
35 21 0:51 / /run/snapd/ns rw - tmpfs tmpfs rw
36 21 0:52 / /sys/kernel/debug/tracing rw - tracefs tracefs rw
26 21 0:42 / /mnt/a\040b ro,relatime - nfs4 10.0.0.1:/x rw,vers=4.2,addr=10.0.0.1,clientaddr=10.0.0.2
27 21 0:43 / /layer rw - overlay overlay rw,lowerdir=/a,upperdir=/b,workdir=/c,metacopy=on
28 21 0:44 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw,fd=29,pgrp=1
"""


def test_mounts(tmp_path: Path) -> None:
    subject = plant(
        tmp_path,
        {"proc/1/mountinfo": MOUNTS, "etc/fstab": "# x\nUUID=1 / ext4 noatime 0 1\nUUID=2 none swap sw\n"},
    )
    assert read_mounts(subject).value == {
        "/": "ext4 rw,relatime,discard",
        "/dev": "devtmpfs rw,nosuid,size=~8100000k,nr_inodes=~2000000,mode=755",
        "/mnt/a b": "nfs4 ro,relatime,vers=4.2",
        "/layer": "overlay rw,metacopy=on",
        "/mnt/automatic": "tmpfs rw",
        "fstab /": "ext4 noatime",
    }


def test_a_secret_option_takes_no_other_with_it(tmp_path: Path) -> None:
    fstab = "//s/x /x cifs username=me,password=abc,uid=0\n//s/y /y cifs user=bob%abc,vers=3.0\n"
    assert read_mounts(plant(tmp_path, {"etc/fstab": fstab})).value == {
        "fstab /x": "cifs username=me,password=<redacted>,uid=0",
        "fstab /y": "cifs user=bob%<redacted>,vers=3.0",
    }


@pytest.mark.parametrize("text", ["", "cut", "a b c\n", "1 2 3 4 5\n - \n"])
def test_broken_lists_of_mounts_are_errors(text: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        parse_mounts(text)


def test_options_of_a_short_fstab_line() -> None:
    (mount,) = parse_fstab("a /b c\nx y\n")
    assert list(normal_options(mount)) == ["defaults"]


def test_names_that_a_script_mentions() -> None:
    text = (
        "systemctl enable --now ecs docker.service\n"
        "systemctl --no-block stop 'x'; systemctl mask amazon-ssm-agent $MORE && true\n"
        "cp conf /etc/ecs/ecs.config; rm -rf /var/lib/ecs/data /usr/bin/x\n. /opt/boot/env.sh\n"
        "echo getty@tty1.service my.services http://h/etc/no\n"
    )
    assert sorted(parse_names(text)) == [
        *("/etc/ecs/ecs.config", "/opt/boot/env.sh", "/var/lib/ecs/data"),
        *("amazon-ssm-agent.service", "docker.service", "ecs.service", "getty@tty1.service", "x.service"),
    ]


def test_flags_of_kubelet() -> None:
    command = "/usr/bin/kubelet --config=/a.yaml --node-ip 10.0.0.1 --v $LEVEL ${MORE} --last"
    flags = parse_flags(command, {"LEVEL": "2", "MORE": "--feature-gates=A=true --x='a b'"})
    assert flags == {
        "config": "/a.yaml",
        "node-ip": "10.0.0.1",
        "v": "2",
        "feature-gates": "A=true",
        "x": "a b",
        "last": "true",
    }


def test_a_unit_file_with_other_comments_is_the_same_and_with_another_secret_too() -> None:
    one = "# a\n[Service]\nExecStart=/bin/x \\\n  --token=abc\n"
    other = "[Service]\n; b\n\nExecStart = /bin/x  --token=def\n"
    assert " ".join(normal_text(one).split()) == " ".join(normal_text(other).split())
    assert digest(normal_text(other)) != digest(normal_text(other.replace("/bin/x", "/bin/y")))


@pytest.mark.parametrize(
    "line",
    [
        "SetCredential=db.password:correct zq2 battery",
        "SetCredentialEncrypted=db: \\\n  zq2base64 \\\n  zq2more",
        'Environment=A_PASSWORD=pre"x zq2"',
        'ExecStart=/bin/sh -c "agent --password \\"a zq2\\""',
        "ExecStart=/bin/a -p 'a zq2'",
        "ExecStart=/bin/a --user 'me:a zq2'",
    ],
)
def test_secrets_with_blanks_in_unit_files(line: str) -> None:
    text = normal_text(f"[Service]\n{line}\nNice=5\n[X-Mine]\nPassword=a zq2\n")
    assert "zq2" not in text
    assert text.endswith("[Service] Nice=5\n[X-Mine] Password=<redacted>")


def test_a_file_that_systemd_refuses_is_not_shown() -> None:
    assert "zq2" not in normal_text("[Service\nPassword=a \\\n zq2\n")


def test_object_paths_of_units() -> None:
    assert object_path("getty@tty1.service") == "/org/freedesktop/systemd1/unit/getty_40tty1_2eservice"
    assert object_path("3a.service").endswith("/_33a_2eservice")


def test_interrupts_of_a_recorded_host() -> None:
    host = Host(Path(__file__).parents[2] / "hosts/debian-6.1-v2")
    facts = read_interrupts(Subject(host)).value or {}
    assert facts["eth0/rx queue 0/allowed"] == "0-1"
    assert "irqbalance" not in facts, "a tree has no processes to tell by"


def test_the_core_that_the_kernel_picked_is_no_setting(tmp_path: Path) -> None:
    interrupts = (
        "            CPU0       CPU1\n 24:   1   2   PCI-MSI 1-edge      eth0-Tx-Rx-0\n"
        " 25:   1   2   PCI-MSI 2-edge      eth0-Tx-Rx-1\n"
    )
    files = {
        "proc/interrupts": interrupts,
        "proc/irq/default_smp_affinity": "ff\n",
        "sys/devices/system/cpu/online": "0-1\n",
        "proc/irq/24/effective_affinity_list": "1\n",
        "proc/irq/24/smp_affinity_list": "0-1\n",
        "proc/irq/25/effective_affinity_list": "1\n",
        "proc/irq/25/smp_affinity_list": "1\n",
        "drivers/ena/x": "",
    }
    subject = plant(tmp_path, files)
    device = tmp_path / "sys/class/net/eth0/device"
    device.mkdir(parents=True)
    (device / "driver").symlink_to("/drivers/ena")
    facts = read_interrupts(subject).value or {}
    assert facts["eth0/queue 0/allowed"] == "0-1"
    assert "eth0/queue 0" not in facts
    assert facts["eth0/queue 1"] == facts["eth0/queue 1/allowed"] == "1"


def test_parameters_that_move_or_follow_the_memory(tmp_path: Path) -> None:
    names = ("page_reporting/{}passes", "page_evacuate/{}moved_pages", "dm_bufio/{}peak_allocated_bytes")
    files = {f"sys/module/{name.format('parameters/')}": "77\n" for name in names}
    files["sys/module/fuse/parameters/max_user_bgreq"] = "7865\n"
    files["sys/module/fuse/parameters/other"] = "7865\n"
    facts = read_modules(plant(tmp_path, files)).value or {}
    assert facts["fuse/max_user_bgreq"] == "~7900"
    assert facts["fuse/other"] == "7865"
    assert not {name.format("") for name in names} & {*facts}


def test_one_bad_line_of_os_release_is_said(tmp_path: Path) -> None:
    reading = read_labels(plant(tmp_path, {"etc/os-release": 'ID=x\nNAME="cut\n', "etc/y": ""}))
    assert "/etc/os-release" in reading.reason


def test_a_metadata_service_that_does_not_answer_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", address)
        assert "metadata service did not answer" in read_labels(Subject(Host())).detail


def test_labels_of_the_owner_are_facts_without_secrets(tmp_path: Path) -> None:
    text = 'rack = "b17"\nzone = "hall-2"\nurl = "https://u:hunter2@example.com/x"\n'
    subject = plant(tmp_path, {"etc/necroscope/labels.toml": text})
    facts = redact_facts("labels", read_labels(subject).value or {})
    assert (facts["rack"], facts["zone"]) == ("b17", "hall-2")
    assert "hunter2" not in str(facts)


def test_who_a_host_is_is_not_compared(tmp_path: Path) -> None:
    text = 'address = "10.0.0.{0}"\ninstance_id = "i-{0}"\nrack = "b17"\n'
    table = FactTable()
    for number in range(3):
        files = {"etc/necroscope/labels.toml": text.format(number), "etc/hostname": f"node-{number}\n"}
        snapshot = take_snapshot(plant(tmp_path / str(number), files).host)
        assert snapshot.facts["identity"] == {"address": f"10.0.0.{number}", "instance_id": f"i-{number}"}
        table.add(snapshot, snapshot.host)
    assert [*table.varying()] == []
    assert "identity" not in {row.section for row in table.not_compared()}
    assert table.values("labels", "rack") == ("b17",)


def test_the_version_of_a_driver_in_another_network_namespace(tmp_path: Path) -> None:
    subject = plant(tmp_path, {"sys/module/ena/version": "2.13.0g\n", "drivers/ena/x": ""})
    device = tmp_path / "sys/class/net/eth0/device"
    device.mkdir(parents=True)
    (device / "driver").symlink_to("/drivers/ena")
    facts = read_nics(subject).value or {}
    assert (facts["eth0/driver"], facts["eth0/driver-version"]) == ("ena", "2.13.0g")


def test_reasons_are_told_once() -> None:
    broken: Reading[str] = Reading(absence=Absence.BROKEN, detail="/a: cut")
    closed: Reading[str] = Reading(absence=Absence.SWITCHED_OFF, detail="/b")
    gathered = Gathered()
    gathered.miss(broken)
    assert gathered.reading("nothing").reason == "unreadable: /a: cut"
    gathered.miss(closed)
    gathered.say("c")
    assert gathered.reading("nothing").reason == "switched off: /b; c; unreadable: /a: cut"
    gathered.add("x", "1")
    assert gathered.reading("nothing").detail == "c; switched off: /b; unreadable: /a: cut"
    silent = Gathered()
    silent.say("which programs run: not running")
    assert silent.reading("no interrupts").detail == "no interrupts"


def test_items_of_lists_are_redacted_one_by_one() -> None:
    document = {"args": ["--password", "a b", "--x"], "env": ["A_PASSWORD=a b", "MODE=fast"], "n": [1, True]}
    assert dict(flatten(document)) == {
        "args": "--password, <redacted>, --x",
        "env": "A_PASSWORD=<redacted>, MODE=fast",
        "n": "1, true",
    }


def test_what_a_script_calls_a_secret_is_no_name(tmp_path: Path) -> None:
    script = "#!/bin/sh\nDB_PASS=/var/lib/zq1\nagent --token /etc/zq2 --config /etc/agent.conf\n"
    service = "[Service]\nType=oneshot\nExecStart=/opt/setup --secret /etc/zq3\n[Install]\nWantedBy=x\n"
    files = {"opt/setup": script, "etc/systemd/system/setup.service": service}
    subject = plant(tmp_path, files)
    wants = tmp_path / "etc/systemd/system/x.target.wants"
    wants.mkdir()
    (wants / "setup.service").symlink_to("../setup.service")
    facts = read_bootstrap(subject).value or {}
    assert facts["setup.service/names"] == "/etc/agent.conf /opt/setup"
