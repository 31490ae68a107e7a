"""Whether what an agent needs is there, on small hosts and on this machine."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from necroscope.findings.agents import AgentRule, NeedRule, SocketCheck, agent_rules
from necroscope.inventory.agent_needs.needs import check_needs
from necroscope.inventory.agent_needs.needs_of_files import Surroundings
from necroscope.model.inventory import Need
from necroscope.sources.host import Host

RULES = {rule.id: rule for rule in agent_rules()}
UNIX_TABLE = """\
Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 18350 {path}
0000000000000000: 00000003 00000000 00000000 0001 03 18351 /run/connected.sock
"""
CONNECTED = ("tcp 10.0.0.5:443",)
METADATA = ("tcp 169.254.169.254:80", "unix /run/systemd/journal/stdout (systemd-journald.service)")


def tree(root: Path, files: Mapping[str, str | bytes], is_live: bool = False) -> Host:
    """A host with these files; a live one has a /proc as we make it."""
    for name, content in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    host = Host(root)
    object.__setattr__(host, "is_live", is_live)
    return host


def around(
    environment: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    calls: tuple[str, ...] | None = None,
    commands: tuple[str, ...] = (),
) -> Surroundings:
    return Surroundings(environment or {}, units or {}, calls, commands)


def needs_of(id: str, host: Host, surroundings: Surroundings) -> list[bool | None]:
    return [need.met for need in check_needs(host, RULES[id], surroundings)]


def need_of(id: str, what: str, host: Host, surroundings: Surroundings) -> Need:
    (need,) = [need for need in check_needs(host, RULES[id], surroundings) if what in need.what]
    return need


def ecs_host(root: Path, config: str = "ECS_CLUSTER=prod\n") -> Host:
    files = {"/etc/ecs/ecs.config": config, "/proc/1/net/unix": UNIX_TABLE.format(path="/run/docker.sock")}
    return tree(root, files, is_live=True)


# --- Amazon ECS -----------------------------------------------------------------------------------


def test_an_ecs_host_has_all_that_the_agent_needs(tmp_path: Path) -> None:
    needs = check_needs(ecs_host(tmp_path), RULES["amazon-ecs-agent"], around(calls=CONNECTED))
    assert [need.met for need in needs] == [True, True, True]
    assert [need.seen for need in needs] == [
        "ECS_CLUSTER=prod in /etc/ecs/ecs.config",
        "somebody listens on /var/run/docker.sock",
        "it is connected to tcp 10.0.0.5:443",
    ]


def test_the_agent_runs_in_a_container_so_no_connection_of_the_unit_says_nothing(tmp_path: Path) -> None:
    assert needs_of("amazon-ecs-agent", ecs_host(tmp_path), around(calls=())) == [True, True, None]


def test_a_kubernetes_node_has_no_cluster_for_the_ecs_agent(tmp_path: Path) -> None:
    table = UNIX_TABLE.format(path="/run/containerd/containerd.sock")
    host = tree(tmp_path, {"/proc/1/net/unix": table}, is_live=True)
    needs = check_needs(host, RULES["amazon-ecs-agent"], around(calls=METADATA))
    assert [need.met for need in needs] == [False, False, None]
    assert "there is no /etc/ecs/ecs.config" in needs[0].seen
    assert "nobody listens on /var/run/docker.sock" in needs[1].seen


@pytest.mark.parametrize(
    "config", ["", "ECS_CLUSTER=\n", "# ECS_CLUSTER=a\n", "ECS_CLUSTER=<your cluster>\n"]
)
def test_a_configuration_without_a_cluster_is_none(tmp_path: Path, config: str) -> None:
    host = ecs_host(tmp_path, config)
    assert need_of("amazon-ecs-agent", "cluster", host, around()).met is False


def test_a_cluster_may_stand_in_the_environment_of_the_unit(tmp_path: Path) -> None:
    host = tree(tmp_path, {}, is_live=True)
    need = need_of("amazon-ecs-agent", "cluster", host, around({"ECS_CLUSTER": "prod"}))
    assert need == Need("a cluster to register with", True, "ECS_CLUSTER=prod in the unit's environment")


def test_an_agent_that_has_registered_with_the_default_cluster_has_one(tmp_path: Path) -> None:
    state = b"\0\1container-instance-arn\0arn:aws:ecs:eu-west-1:1:container-instance/default/1\xff\0"
    host = tree(tmp_path, {"/var/lib/ecs/data/agent.db": state}, is_live=True)
    assert need_of("amazon-ecs-agent", "cluster", host, around()).met is True


def test_an_image_without_the_configuration_says_that_it_may_come_later(tmp_path: Path) -> None:
    needs = check_needs(tree(tmp_path, {}), RULES["amazon-ecs-agent"], around())
    assert [need.met for need in needs] == [False, None, None]
    assert "not in this image" in needs[0].seen


def test_an_image_with_docker_enabled_will_have_its_socket(tmp_path: Path) -> None:
    units = {"docker.service": "enabled"}
    assert needs_of("amazon-ecs-agent", tree(tmp_path, {}), around(units=units))[1] is True
    units = {"docker.service": "disabled"}
    assert needs_of("amazon-ecs-agent", tree(tmp_path, {}), around(units=units))[1] is None


def test_systemd_listens_for_a_docker_that_has_failed(tmp_path: Path) -> None:
    units = {"docker.socket": "active", "docker.service": "failed"}
    need = need_of("amazon-ecs-agent", "Docker", ecs_host(tmp_path), around(units=units, calls=()))
    assert need.met is False
    assert "docker.service behind it has failed" in need.seen
    units["docker.service"] = "active"
    need = need_of("amazon-ecs-agent", "Docker", ecs_host(tmp_path), around(units=units, calls=()))
    assert need.met is True


def test_an_agent_that_reached_its_control_plane_needs_no_docker_that_we_see(tmp_path: Path) -> None:
    files = {"/etc/ecs/ecs.config": "ECS_CLUSTER=a\n", "/proc/1/net/unix": UNIX_TABLE.format(path="/run/x")}
    host = tree(tmp_path, files, is_live=True)
    assert needs_of("amazon-ecs-agent", host, around(calls=CONNECTED)) == [True, True, True]


# --- secrets --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "met"),
    [
        ("api_key: 0123456789abcdef\n", True),
        ("api_key: YOUR_API_KEY\n", False),
        ("api_key:\nsite: datadoghq.eu\n", False),
        ("site: datadoghq.eu\n# api_key: 0123456789abcdef\n", False),
        ("api_key: ${DD_API_KEY}\n", False),
    ],
)
def test_datadog_needs_an_api_key(tmp_path: Path, config: str, met: bool) -> None:
    host = tree(tmp_path, {"/etc/datadog-agent/datadog.yaml": config}, is_live=True)
    need = need_of("datadog-agent", "API key", host, around())
    assert need.met is met
    assert "0123456789abcdef" not in need.seen


def test_a_key_that_the_environment_has_is_not_shown(tmp_path: Path) -> None:
    need = need_of("newrelic-infra", "key", tree(tmp_path, {}), around({"NRIA_LICENSE_KEY": "geheim"}))
    assert need.met is True and "geheim" not in need.seen


def test_no_rule_shows_a_value_that_may_be_secret() -> None:
    shown = {
        name
        for rule in RULES.values()
        for need in rule.needs
        for check in need.any
        if getattr(check, "is_shown", False)
        for name in check.names  # type: ignore[union-attr]
    }
    assert shown == {"ECS_CLUSTER", "Cluster", "AWS_REGION", "Region", "K3S_URL", "server"}


# --- Kubernetes -----------------------------------------------------------------------------------


def test_a_node_that_joined_has_all_that_kubelet_needs(tmp_path: Path) -> None:
    files = {
        "/etc/kubernetes/kubelet.conf": "x",
        "/var/lib/kubelet/config.yaml": "x",
        "/proc/1/net/unix": UNIX_TABLE.format(path="/run/containerd/containerd.sock"),
    }
    host = tree(tmp_path, files, is_live=True)
    assert needs_of("kubelet", host, around(calls=CONNECTED)) == [True, True, True, True]
    assert needs_of("kubelet", host, around(calls=())) == [True, True, True, False]


def test_a_kubelet_that_nobody_joined_lacks_all(tmp_path: Path) -> None:
    host = tree(tmp_path, {"/proc/1/net/unix": UNIX_TABLE.format(path="/run/x")}, is_live=True)
    surroundings = around(calls=(), commands=("/usr/bin/kubelet",))
    assert needs_of("kubelet", host, surroundings) == [False, False, False, False]


@pytest.mark.parametrize(
    "command", ["/usr/bin/kubelet --kubeconfig=/opt/k", "/usr/bin/kubelet --kubeconfig /opt/k"]
)
def test_kubelet_may_be_told_where_its_files_are(tmp_path: Path, command: str) -> None:
    host = tree(tmp_path, {"/opt/k": "x"})
    assert needs_of("kubelet", host, around(commands=(command,)))[:2] == [True, True]
    (tmp_path / "opt/k").unlink()
    assert needs_of("kubelet", host, around(commands=(command,)))[:2] == [False, False]


def test_variables_of_a_command_are_filled_in_or_leave_it_open(tmp_path: Path) -> None:
    host = tree(tmp_path, {"/opt/k": "x"})
    commands = ("/usr/bin/kubelet $ARGS",)
    assert needs_of("kubelet", host, around({"ARGS": "--kubeconfig=/opt/k"}, commands=commands))[0] is True
    assert needs_of("kubelet", host, around(commands=commands))[0] is None


def test_k3s_needs_a_server_and_a_token(tmp_path: Path) -> None:
    environment = "K3S_TOKEN='K10geheim'\nK3S_URL='https://10.0.0.1:6443'\n"
    host = tree(tmp_path, {"/etc/systemd/system/k3s-agent.service.env": environment}, is_live=True)
    needs = check_needs(host, RULES["k3s-agent"], around(calls=CONNECTED))
    assert [need.met for need in needs] == [True, True, True]
    assert not any("geheim" in need.seen for need in needs)
    bare = tree(tmp_path / "bare", {})
    assert needs_of("k3s-agent", bare, around(commands=("/usr/local/bin/k3s agent",))) == [False, False, None]


@pytest.mark.parametrize(
    ("arguments", "met"),
    [
        ("--server https://10.0.0.1:6443 --token K10geheim", [True, True]),
        ("--server=https://10.0.0.1:6443 --token-file=/etc/token", [True, True]),
        ("-s https://10.0.0.1:6443 -t K10geheim", [True, True]),
        ("--server https://10.0.0.1:6443", [True, False]),
        ("--server-x --node-label token", [False, False]),
        ("$K3S_ARGUMENTS", [None, None]),
    ],
)
def test_k3s_may_be_told_by_its_command(tmp_path: Path, arguments: str, met: list[bool | None]) -> None:
    commands = (f"/usr/local/bin/k3s agent {arguments}",)
    needs = check_needs(tree(tmp_path, {}), RULES["k3s-agent"], around(commands=commands))
    assert [need.met for need in needs][:2] == met
    assert not any("geheim" in need.seen for need in needs)


@pytest.mark.parametrize(
    ("command", "met"),
    [("consul agent -dev", True), ("consul agent -retry-join=10.0.0.1", True), ("consul agent", False)],
)
def test_consul_may_be_told_whom_to_join_by_its_command(tmp_path: Path, command: str, met: bool) -> None:
    host = tree(tmp_path, {"/etc/consul.d/consul.hcl": '# retry_join = ["x"]\n'}, is_live=True)
    assert needs_of("consul", host, around(calls=(), commands=(command,))) == [met]


CONSUL = "/usr/bin/consul agent -config-dir={folder}"
NOMAD = "/usr/bin/nomad agent -config {folder}"
JOINS = 'server { enabled = true }\nretry_join = ["10.0.0.1"]\n'


@pytest.mark.parametrize("folder", ["/etc/consul.d", "/etc/consul.d/", "/opt/configuration"])
@pytest.mark.parametrize(("id", "command", "needs"), [("consul", CONSUL, 1), ("nomad", NOMAD, 2)])
def test_a_folder_that_a_command_names_stands_for_its_files(
    tmp_path: Path, id: str, command: str, needs: int, folder: str
) -> None:
    surroundings = around(commands=(command.format(folder=folder),))
    file = f"{folder}/main.hcl"
    ignored = {f"{folder}/README": JOINS, f"{folder}/deeper/x.hcl": JOINS}
    lacking = tree(tmp_path / "lacking", {**ignored, file: '# retry_join = ["x"]\ndata_dir = "/x"\n'})
    assert needs_of(id, lacking, surroundings) == [False] * needs
    assert needs_of(id, tree(tmp_path / "bare", {}), surroundings) == [False] * needs
    assert needs_of(id, tree(tmp_path / "joined", {file: JOINS}), surroundings) == [True] * needs


# --- logs -----------------------------------------------------------------------------------------

FLUENT_BIT = "[SERVICE]\n  Flush 1\n[INPUT]\n  Name cpu\n[OUTPUT]\n  Name  {name}\n  Match *\n"


@pytest.mark.parametrize(
    ("name", "met"), [("stdout", False), ("null", False), ("es", True), ("forward", True)]
)
def test_fluent_bit_needs_a_destination(tmp_path: Path, name: str, met: bool) -> None:
    host = tree(tmp_path, {"/etc/fluent-bit/fluent-bit.conf": FLUENT_BIT.format(name=name)})
    assert needs_of("fluent-bit", host, around(commands=("/opt/fluent-bit/bin/fluent-bit",))) == [met]


@pytest.mark.parametrize(
    ("arguments", "met"),
    [
        ("-i cpu -o es -p Host=10.0.0.1", True),
        ("-i cpu --output=forward://10.0.0.1", True),
        ("-i cpu --output kafka", True),
        ("-i cpu -o stdout -o es", True),
        ("-i cpu -o stdout", False),
        ("-i cpu --output=null", False),
        ("-i cpu", False),
    ],
)
def test_fluent_bit_may_be_told_its_destination_by_its_command(
    tmp_path: Path, arguments: str, met: bool
) -> None:
    commands = (f"/opt/fluent-bit/bin/fluent-bit {arguments}",)
    assert needs_of("fluent-bit", tree(tmp_path, {}), around(commands=commands)) == [met]


@pytest.mark.parametrize(
    ("config", "met"),
    [
        ("filebeat.inputs:\n- type: log\n  paths: [/var/log/x]\n", True),
        ("filebeat.inputs:\n  - type: log\n    paths:\n      - /var/log/x\noutput.x:\n", True),
        ("filebeat.inputs:\n- id: x\n  type: log\n  # enabled: false\n", True),
        ("filebeat.inputs:\n- type: log\n  enabled: false\n\n- type: filestream", True),
        ("filebeat.inputs:\n- type: log\n  scanner:\n    enabled: false\n", True),
        ("filebeat.inputs:\n- type: log\n  enabled: true\n", True),
        ("filebeat.inputs:\n- type: log\n\n  # on?\n  enabled: false\n  paths: [/x]\n", False),
        ("filebeat.inputs:\n  - type: log\n    id: x\n# off\n    enabled: no\n", False),
        ("filebeat.inputs:\n#- type: log\n#  paths: [/x]\n", False),
        ("filebeat.inputs: []\n", False),
    ],
)
def test_an_input_of_filebeat_is_switched_on_unless_it_says_otherwise(
    tmp_path: Path, config: str, met: bool
) -> None:
    assert needs_of("filebeat", tree(tmp_path, {"/etc/filebeat/filebeat.yml": config}), around()) == [met]


def test_the_file_that_a_command_names_is_searched(tmp_path: Path) -> None:
    host = tree(tmp_path, {"/opt/our/bit.conf": FLUENT_BIT.format(name="kafka")})
    command = "/opt/fluent-bit/bin/fluent-bit -c //opt/our/bit.conf"
    assert needs_of("fluent-bit", host, around(commands=("/usr/bin/fluent-bit",))) == [False]
    assert needs_of("fluent-bit", host, around(commands=(command,))) == [True]


@pytest.mark.parametrize(
    ("config", "met"),
    [
        ("<source>\n  @type forward\n</source>\n<match td.*.*>\n  @type tdlog\n</match>\n", False),
        ("<match debug.**>\n  @type stdout\n</match>\n", False),
        ("<match **>\n  @type s3\n</match>\n", True),
        ("<match **>\n  @type copy\n  <store>\n    @type elasticsearch\n  </store>\n</match>\n", True),
    ],
)
def test_fluentd_needs_a_destination(tmp_path: Path, config: str, met: bool) -> None:
    assert needs_of("fluentd", tree(tmp_path, {"/etc/fluent/fluentd.conf": config}), around()) == [met]


# --- hardware -------------------------------------------------------------------------------------


def machine(root: Path, vendor: str, product: str = "") -> Host:
    files = {"/sys/class/dmi/id/sys_vendor": f"{vendor}\n", "/sys/class/dmi/id/product_name": f"{product}\n"}
    return tree(root, files, is_live=True)


def test_an_agent_of_google_on_a_machine_of_amazon(tmp_path: Path) -> None:
    host = machine(tmp_path, "Amazon EC2", "p4d.24xlarge")
    (need,) = check_needs(host, RULES["google-guest-agent"], around())
    assert need.met is False and "Amazon EC2 p4d.24xlarge" in need.seen
    assert needs_of("hibinit-agent", host, around()) == [True]
    google = machine(tmp_path / "google", "Google", "Google Compute Engine")
    assert needs_of("google-guest-agent", google, around()) == [True]
    assert needs_of("hibinit-agent", google, around()) == [False]


def test_an_ssm_agent_that_only_asks_for_credentials_is_connected_to_nobody(tmp_path: Path) -> None:
    host = machine(tmp_path, "Amazon EC2")
    assert needs_of("amazon-ssm-agent", host, around(calls=METADATA)) == [True, False]
    assert needs_of("amazon-ssm-agent", host, around(calls=None)) == [True, None]
    assert needs_of("amazon-ssm-agent", host, around(calls=(*METADATA, "tcp [2a05::1]:443"))) == [True, True]


def test_firmware_that_says_nothing_leaves_it_open(tmp_path: Path) -> None:
    assert needs_of("google-guest-agent", tree(tmp_path, {}, is_live=True), around()) == [None]


def gpu_host(root: Path, *classes: str) -> Host:
    files: dict[str, str] = {"/proc/driver/nvidia/version": "NVRM\n"}
    for index, number in enumerate(classes):
        folder = f"/sys/bus/pci/devices/0000:00:0{index}.0"
        files |= {f"{folder}/vendor": "0x10de\n", f"{folder}/class": f"{number}\n"}
    return tree(root, files, is_live=True)


def test_fabric_manager_needs_an_nvswitch(tmp_path: Path) -> None:
    failed = around(units={"nvidia-fabricmanager.service": "failed"})
    assert needs_of("nvidia-fabricmanager", gpu_host(tmp_path / "a", "0x030200"), failed) == [False, True]
    assert needs_of("nvidia-fabricmanager", gpu_host(tmp_path / "b", "0x068000"), failed) == [True, True]
    # B200: no NVSwitch on the bus, but the daemon stays up.
    active = around(units={"nvidia-fabricmanager.service": "active"})
    assert needs_of("nvidia-fabricmanager", gpu_host(tmp_path / "a", "0x030200"), active) == [True, True]
    enabled = around(units={"nvidia-fabricmanager.service": "enabled"})
    assert needs_of("nvidia-fabricmanager", tree(tmp_path / "c", {}), enabled) == [None, None]


def test_persistenced_without_a_gpu(tmp_path: Path) -> None:
    host = tree(tmp_path, {"/sys/bus/pci/devices/0/vendor": "0x1d0f\n", "/dev/null": ""}, is_live=True)
    assert needs_of("nvidia-persistenced", host, around()) == [False, False]


def test_an_image_does_not_know_its_hardware(tmp_path: Path) -> None:
    host = tree(tmp_path, {"/sys/class/dmi/id/sys_vendor": "Google\n", "/dev/nvidia0": ""})
    for id in ("nvidia-persistenced", "qemu-guest-agent", "google-guest-agent", "modem-manager"):
        assert set(needs_of(id, host, around())) == {None}, id


# --- units ----------------------------------------------------------------------------------------


def test_two_daemons_that_set_the_clock(tmp_path: Path) -> None:
    host = tree(tmp_path, {"/etc/chrony/chrony.conf": "pool 2.debian.pool.ntp.org iburst\n"})
    both = around(units={"chrony.service": "active", "systemd-timesyncd.service": "active"})
    need = need_of("chrony", "nobody else", host, both)
    assert need.met is False and need.seen == "systemd-timesyncd.service is active"
    assert needs_of("chrony", host, around(units={"systemd-timesyncd.service": "inactive"})) == [True, True]


@pytest.mark.parametrize(
    ("state", "met"),
    [
        ("active", True),
        ("enabled", True),
        ("activating", None),
        ("static", None),
        ("failed", False),
        ("masked", False),
    ],
)
def test_the_state_of_a_peer(tmp_path: Path, state: str, met: bool | None) -> None:
    units = {"ecs.service": state}
    assert needs_of("amazon-ecs-volume-plugin", tree(tmp_path, {}), around(units=units)) == [met]


# --- hostile files --------------------------------------------------------------------------------


def cluster(host: Host) -> Need:
    return need_of("amazon-ecs-agent", "cluster", host, around())


@pytest.mark.parametrize(
    "content",
    [b"\0\xff" * 1000, b"ECS_CLUSTER=a\0b\n", b"x" * (2 << 20)],
    ids=["binary", "null byte", "too large"],
)
def test_what_is_no_configuration_leaves_it_open(tmp_path: Path, content: bytes) -> None:
    assert cluster(tree(tmp_path, {"/etc/ecs/ecs.config": content})).met is None


def test_a_loop_of_links_leaves_it_open(tmp_path: Path) -> None:
    (tmp_path / "etc/ecs").mkdir(parents=True)
    (tmp_path / "etc/ecs/ecs.config").symlink_to("ecs.config")
    assert cluster(Host(tmp_path)).met is None


def test_a_link_to_our_own_files_leads_into_the_image(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("ECS_CLUSTER=ours\n")
    root = tmp_path / "root"
    (root / "etc/ecs").mkdir(parents=True)
    (root / "etc/ecs/ecs.config").symlink_to(outside)
    assert cluster(Host(root)).met is False


def test_pipes_folders_and_cut_files_neither_hang_nor_crash(tmp_path: Path) -> None:
    for name, make in {"pipe": os.mkfifo, "folder": os.mkdir}.items():
        folder = tmp_path / name / "etc/ecs"
        folder.mkdir(parents=True)
        make(folder / "ecs.config")
        assert cluster(Host(tmp_path / name)).met is None, name
    cut = tree(tmp_path / "cut", {"/etc/ecs/ecs.config.json": '{"Cluster": "a'})
    assert cluster(cut).met is None
    nowhere = tree(tmp_path / "cut", {"/etc/ecs/ecs.config": "ECS_CLUS"})
    assert cluster(nowhere).met is None


def every_file(rule: AgentRule) -> list[str]:
    checks = [check for need in rule.needs for check in need.any]
    globs = [path for check in checks for path in (*getattr(check, "of", ()), *getattr(check, "paths", ()))]
    return [glob.replace("[0-9]", "0").replace("*", "x") for glob in globs]


@pytest.mark.parametrize(
    "line",
    [
        "[OUTPUT]\n",
        "<match\n",
        "<match x>\n",
        "outputs:\n",
        "type\n",
        " \n",
        "[" * 100,
        "a: " * 50 + "\n",
        "{\n",
        "- type: x\n",
        "- id: x\n\n",
        "  - type:\n - id:\n",
    ],
)
def test_large_hostile_files_of_all_rules_take_no_time(tmp_path: Path, line: str) -> None:
    host = tree(tmp_path, {"/content": line * (400_000 // len(line))}, is_live=True)
    for rule in RULES.values():
        for name in every_file(rule)[:2]:
            path = tmp_path / name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.is_symlink():
                path.symlink_to("/content")
    for rule in RULES.values():
        began = time.process_time()
        check_needs(host, rule, around())
        assert time.process_time() - began < 2, rule.id


# --- this machine ---------------------------------------------------------------------------------


def test_every_rule_can_be_checked_here_and_says_what_it_saw() -> None:
    host = Host()
    for rule in RULES.values():
        needs = check_needs(host, rule, around(calls=()))
        assert len(needs) == len(rule.needs)
        assert all(need.seen for need in needs), rule.id


def test_a_socket_that_somebody_really_listens_on() -> None:
    path = f"/run/necroscope-test-{os.getpid()}.sock"
    if not os.access("/run", os.W_OK):
        pytest.skip("needs the right to make a socket in /run")
    peer = NeedRule("a peer", (SocketCheck((f"/var{path}",), ()),), provided_at_boot=False)
    rule = replace(RULES["docker"], needs=(peer,))

    def met() -> bool | None:
        return check_needs(Host(), rule, around())[0].met

    assert met() is False
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(path)
        try:
            if path not in Path("/proc/1/net/unix").read_text(errors="replace"):
                pytest.skip("the first process is in another network namespace")
            assert met() is False, "bound, but nobody listens"
            door.listen()
            assert met() is True
        finally:
            Path(path).unlink()
