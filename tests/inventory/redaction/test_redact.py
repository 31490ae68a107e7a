"""Every rule of redaction.toml against its examples, and text as people write it."""

from __future__ import annotations

import os
import re
import time
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from necroscope.inventory.redaction.redact import (
    is_closed,
    read_openly,
    redact_fact,
    redact_facts,
    redact_items,
    redact_symbol,
    redact_text,
)
from necroscope.inventory.redaction.secret_values import REDACTED, is_random, is_secret
from necroscope.inventory.sections.catalog import SECTIONS
from necroscope.model.reading import Absence
from necroscope.sources.host import Host

RULES: dict[str, Any] = tomllib.loads(
    files("necroscope.inventory").joinpath("rules/redaction.toml").read_text()
)


def test_names() -> None:
    assert [name for name in RULES["names"]["match"] if not is_secret(name, "hunter2")] == []
    assert [name for name in RULES["names"]["no_match"] if is_secret(name, "hunter2")] == []


def test_values_under_such_names() -> None:
    names = RULES["names"]
    assert [text for text in names["match_values"] if not is_secret(*text.split("=", 1))] == []
    assert [text for text in names["no_match_values"] if is_secret(*text.split("=", 1))] == []


@pytest.mark.parametrize(
    ("kind", "rule"), [(kind, rule) for kind in ("options", "values") for rule in RULES[kind]]
)
def test_options_and_values(kind: str, rule: str) -> None:
    row = RULES[kind][rule]
    assert [text for text in row["match"] if REDACTED not in redact_text(text)] == []
    assert [text for text in row["match"] if re.search("hunter2|a b", redact_text(text))] == []
    assert [text for text in row["no_match"] if redact_text(text) != text] == []


def test_random_text() -> None:
    assert [word for word in RULES["random"]["match"] if not is_random(word)] == []
    assert [word for word in RULES["random"]["no_match"] if redact_text(word) != word] == []


def test_closed_files() -> None:
    assert [path for path in RULES["files"]["match"] if not is_closed(path)] == []
    assert [path for path in RULES["files"]["no_match"] if is_closed(path)] == []


def test_every_section_says_which_part_of_a_name_counts() -> None:
    assert set(RULES["scopes"]) == set(SECTIONS)


@pytest.mark.parametrize(
    "text",
    [
        "--token=SECRET1 --cluster=blue",
        "--token SECRET1 --cluster=blue",
        "-password SECRET1",
        "/bin/agent --api-key 'SECRET1 SECRET1' --verbose",
        'Environment="DB_PASSWORD=SECRET1 SECRET1" "MODE=fast"',
        "Environment=DB_PASSWORD='SECRET1 SECRET1'",
        "Environment=DB_PASSWORD=SECRET1 MODE=fast",
        'Environment="DB_PASSWORD=\\"SECRET1 SECRET1\\"" A=b',
        '{"user": "me", "password": "SECRET1", "port": 1}',
        '{"password":"a\\"SECRET1"}',
        "password: SECRET1 SECRET1",
        "Server=x;Password=SECRET1;Database=y",
        "--set=password=SECRET1",
        "docker run -e DB_PASSWORD=SECRET1 image",
        "openssl -passin pass:SECRET1",
        "rw,relatime,username=me,password=SECRET1,uid=0",
        "ceph rw,name=admin,secret=SECRET1",
        "Authorization: Bearer SECRET1",
        "curl -u me:SECRET1 http://x",
        "export TOKEN=SECRET1; run",
        "SetCredential=db:SECRET1",
        "PASSWORD=SECRET1\\ SECRET1",
        "x-api-key: SECRET1",
        '"token" : "SECRET1"',
        "PASSWORD=\nTOKEN=SECRET1",
        "http://me:p@SECRET1@host/",
        "http://me:p/SECRET1@host/",
        "me:p@SECRET1@host.example.com",
        'Environment=A_PASSWORD=pre"SECRET1 SECRET1" MODE=fast',
        "Environment=A_PASSWORD=pre'SECRET1 SECRET1'",
        "agent -p 'SECRET1 SECRET1' --x",
        "agent --user 'me:SECRET1 SECRET1'",
        'sh -c "agent --password \\"SECRET1 SECRET1\\" --x"',
        '"{\\"password\\":\\"SECRET1 SECRET1\\"}"',
        '["--password","SECRET1"]',
        '["--password", "SECRET1 SECRET1", "--verbose"]',
        "['--password' , 'SECRET1']",
        "Password=SECRET1 SECRET1;Database=x",
        "Server=x; Password=SECRET1 SECRET1",
        "'Server=x;Password=SECRET1 SECRET1' --y",
        "password = SECRET1 SECRET1",
        "password => SECRET1",
        "PASSWORD+=SECRET1",
        "if password == SECRET1",
        '--password "a"SECRET1',
        "--password don't SECRET1's",
        "PASSWORD='a\nSECRET1'",
        "SetCredential=db.password:SECRET1",
        "https://token:SECRET1@host/x",
        "curl -H 'X-Token: a'\\''SECRET1' http://x",
        "ENCRYPT=SECRET1",
        "consul --encrypt SECRET1=",
    ],
)
def test_secrets_inside_of_text(text: str) -> None:
    assert "SECRET1" not in redact_text(text)
    assert REDACTED in redact_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "PrivateTmp=yes\nProtectSystem=full",
        "--tls-private-key-file=/etc/tls/server.crt",
        "--authentication-token-webhook=true",
        "ExecStart=/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml",
        "Environment=HTTP_PROXY=http://proxy.example.com:3128/",
        "PassEnvironment=HOME LANG",
        "KeyringMode=private",
        "PASSWORD=",
        "the key word",
        "ext4 rw,relatime,discard",
        "LoadCredential=db:/etc/db.conf",
        "--image-credential-provider-config=/etc/eks/image-credential-provider/config.json",
        "iptables -A INPUT -p tcp -j ACCEPT",
        "the user's key is 'here' and there",
        f"--password {REDACTED}, --x",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact_text(text) == text


def test_the_host_of_a_url_stays() -> None:
    assert redact_text("http://me:hunter2@proxy:3128/") == f"http://{REDACTED}@proxy:3128/"


def test_the_rest_of_a_command_line_stays() -> None:
    assert redact_text("agent --token=abc --cluster=blue") == f"agent --token={REDACTED} --cluster=blue"


def test_what_follows_a_secret_stays() -> None:
    for text, expected in {
        'Environment="DB_PASSWORD=a b" "MODE=fast"': f'Environment="DB_PASSWORD={REDACTED}" "MODE=fast"',
        'sh -c "agent --token=abc --x" -y': f'sh -c "agent --token={REDACTED} --x" -y',
        '["--password", "x", "--verbose"]': f'["--password", {REDACTED}, "--verbose"]',
        '{"password":"x","port":1}': f'{{"password":{REDACTED},"port":1}}',
        "Server=a;Password=b c;Database=d": f"Server=a;Password={REDACTED};Database=d",
        "rw,password=<redacted>,uid=0": "rw,password=<redacted>,uid=0",
        'curl -H "Authorization: Bearer abcdef" -v': f'curl -H "Authorization: {REDACTED}" -v',
    }.items():
        assert redact_text(text) == expected


def test_items_of_lists() -> None:
    items = ["--password", "a b", "--x", "A_PASSWORD=a b", "MODE=fast", "--token", "--y", "x --token z"]
    assert redact_items(items) == [
        *("--password", REDACTED, "--x", f"A_PASSWORD={REDACTED}", "MODE=fast", "--token", "--y"),
        f"x --token {REDACTED}",
    ]


def test_useful_facts_stay() -> None:
    digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    for section, name, value in (
        ("kubelet", "config/registerWithTaints/0/key", "node.kubernetes.io/gpu"),
        ("kubelet", "config/authentication/webhook/cacheTTL", "2m0s"),
        ("kubelet", "config/authorization/webhook/cacheAuthorizedTTL", "5m0s"),
        ("kernel", "release", f"6.1.0-g{digest[:40]}"),
        ("environment", "a.service/IMAGE_ID", digest),
        ("mounts", "/a", f"cifs rw,username=me,password={REDACTED},uid=0"),
    ):
        assert redact_fact(section, name, value) == value
    assert redact_fact("environment", "a.service/TRACKING_ID", digest) == REDACTED


def test_scopes_of_names() -> None:
    assert redact_fact("runtime", "registry/configs/hub/auth/username", "bob") == REDACTED
    assert redact_fact("units", "systemd-ask-password-wall.path/runs", "waiting") == "waiting"
    assert redact_fact("environment", "password-agent.service/MODE", "fast") == "fast"
    assert redact_fact("sysctls", "net.ipv4.tcp_fastopen_key", "0-1-2-3") == REDACTED
    assert redact_fact("kubelet", "config/authorization/mode", "Webhook") == "Webhook"
    assert redact_fact("runtime", "containerd/headers/Authorization", "Custom abc") == REDACTED
    assert redact_fact("kernel", "command-line/password.x", "abc") == REDACTED
    assert redact_fact("modules", "snmp/community", "public") == REDACTED
    assert redact_fact("environment", "a.service/LDAP_BINDPW", "7") == REDACTED
    assert redact_fact("a section of tomorrow", "db/password/value", "x") == REDACTED


def test_a_secret_in_a_name_goes_as_well() -> None:
    facts = {"command-line/AKIAIOSFODNN7EXAMPLE": "", "command-line/AKIAIOSFODNN7EXAMPL2": "", "release": "6"}
    assert redact_facts("kernel", facts) == {f"command-line/{REDACTED}": REDACTED, "release": "6"}


def test_redacting_twice_changes_nothing() -> None:
    text = "a --token=b http://c:d@e AKIAIOSFODNN7EXAMPLE password: x"
    assert redact_text(redact_text(text)) == redact_text(text)


def test_hostile_text_is_quick() -> None:
    for text in (
        "a=" * 100_000,
        '"' * 200_000,
        "a:" * 100_000 + "@",
        "://" * 60_000,
        "-" * 200_000,
        "eyJ" * 60_000,
        "\\" * 200_000,
        'password="x ' * 10_000,
        "password=a b;" * 10_000,
        "curl -u a:b " * 5_000,
        "root:x" * 30_000,
        "<pass" * 30_000,
    ):
        begin = time.monotonic()
        redact_text(text)
        assert time.monotonic() - begin < 10, text[:20]


def test_closed_files_stay_closed_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/shadow").write_text("root:x")
    (tmp_path / "etc/innocent.conf").symlink_to("/etc/shadow")
    (tmp_path / "etc/open.conf").write_text("A=1\n")
    (tmp_path / "etc/loop").symlink_to("loop")
    os.mkfifo(tmp_path / "etc/pipe")
    (tmp_path / "etc/nothing").symlink_to("/dev/null")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/null").touch()
    host = Host(tmp_path)
    assert read_openly(host, "/etc/innocent.conf").absence is Absence.SWITCHED_OFF
    assert read_openly(host, "/etc/open.conf").value == "A=1\n"
    assert read_openly(host, "/etc/loop").absence is Absence.BROKEN
    assert read_openly(host, "/etc/pipe").absence is Absence.BROKEN
    assert read_openly(host, "/etc/nothing").value == ""
    assert read_openly(host, "/etc/none").absence is Absence.NOT_SUPPORTED


def test_a_function_keeps_the_hash_of_its_compiler_and_loses_a_key() -> None:
    mangled = "_ZN4core3ptr85drop_in_place17h8d3f9e2b1c4a5f60E"
    assert redact_symbol(mangled) == mangled
    assert redact_symbol("run AKIAIOSFODNN7EXAMPLE") == "run <redacted>"
