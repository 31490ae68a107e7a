"""Configuration files as flat names, and YAML that is damaged or hostile."""

from __future__ import annotations

import time

import pytest

from necroscope.inventory.sections.flat import (
    MAX_YAML_CHARACTERS,
    flatten,
    parse_json,
    parse_toml,
    parse_yaml,
)

KUBELET = """\
# made by an installer
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous:
    enabled: false
  x509:
    clientCAFile: "/etc/kubernetes/pki/ca.crt"
cgroupDriver: systemd   # v2
clusterDNS:
- 10.96.0.10
- '10.96.0.11'
evictionHard:
  memory.available: 100Mi
  nodefs.available: "10%"
featureGates: {}
allowedUnsafeSysctls: []
enforceNodeAllocatable: [pods, kube-reserved]
registerWithTaints:
  - key: gpu
    value: "yes"
    effect: NoSchedule
  - key: spot
    effect: NoExecute
logging:
  options:
    json:
      infoBufferSize: "0"
staticPodPath: /etc/kubernetes/manifests
systemReserved: null
"""


def flat(text: str) -> dict[str, str]:
    return dict(flatten(parse_yaml(text)))


def test_what_kubelet_writes() -> None:
    assert flat(KUBELET) == {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication/anonymous/enabled": "false",
        "authentication/x509/clientCAFile": "/etc/kubernetes/pki/ca.crt",
        "cgroupDriver": "systemd",
        "clusterDNS": "10.96.0.10, 10.96.0.11",
        "evictionHard/memory.available": "100Mi",
        "evictionHard/nodefs.available": "10%",
        "featureGates": "",
        "allowedUnsafeSysctls": "",
        "enforceNodeAllocatable": "pods, kube-reserved",
        "registerWithTaints/0/key": "gpu",
        "registerWithTaints/0/value": "yes",
        "registerWithTaints/0/effect": "NoSchedule",
        "registerWithTaints/1/key": "spot",
        "registerWithTaints/1/effect": "NoExecute",
        "logging/options/json/infoBufferSize": "0",
        "staticPodPath": "/etc/kubernetes/manifests",
        "systemReserved": "null",
    }


def test_json_is_yaml() -> None:
    assert flat('{"a": {"b": [1, true, null, "x"]}}') == {"a/b": "1, true, null, x"}


def test_brackets_and_blocks_of_text() -> None:
    assert flat("a: {b: c}\nd: [e, {f: g}]") == {"a/b": "c", "d/0": "e", "d/1/f": "g"}
    assert flat("a: |\n  two\n  lines\nb: >-\n  one\n  line") == {"a": "two\nlines\n", "b": "one line"}


def test_scalars_are_as_they_are_written() -> None:
    text = "a: yes\nb: 0755\nc: 1.10\nd: 2026-04-15\ne: 1_000\nf:\ng: ~\n12:30: <<\n"
    assert flat(text) == {
        **{"a": "yes", "b": "0755", "c": "1.10", "d": "2026-04-15", "e": "1_000"},
        **{"f": "null", "g": "null", "12:30": "<<"},
    }


def test_an_empty_file_says_nothing() -> None:
    assert parse_yaml("") == parse_yaml("# nothing\n---\n") == {}


@pytest.mark.parametrize(
    "text",
    [
        "a: &b [x]\nc: [*b, *b]",
        "a: !tag b",
        "a: !!int b",
        "a: !!python/object/apply:os.system [b]",
        "a: \x07b",
        "a: 'cut",
        "a:\n\tb: c",
        "a: b\n---\nc: d",
        "a: b\n   c: d",
        "- a\nb: c",
        "\n".join(" " * n + f"k{n}:" for n in range(200)),
    ],
)
def test_what_cannot_be_read_is_an_error_that_quotes_nothing(text: str) -> None:
    with pytest.raises(ValueError, match=r"^[^&*!|>'{]+$"):
        parse_yaml(text)


def test_hostile_text_is_quick() -> None:
    most = MAX_YAML_CHARACTERS
    begin = time.process_time()
    for text in (
        "a" + " " * (most - 2) + "b",
        "- " * (most // 2),
        "'" * most,
        "a:\n" * (most // 3),
        "[" * most,
    ):
        try:
            dict(flatten(parse_yaml(text)))
        except ValueError:
            continue
    assert time.process_time() - begin < 5


def test_a_file_without_end_is_an_error() -> None:
    with pytest.raises(ValueError, match="more than 131,072 characters"):
        parse_yaml("a" * (MAX_YAML_CHARACTERS + 1))


def test_deep_documents_are_an_error() -> None:
    with pytest.raises(ValueError, match="deep"):
        parse_json("[" * 100_000)
    with pytest.raises(ValueError, match="deep"):
        parse_toml("a = " + "[" * 100_000)
    with pytest.raises(ValueError, match="deep"):
        dict(flatten(parse_json("[" * 100 + "{}" + "]" * 100)))


def test_toml() -> None:
    assert dict(flatten(parse_toml('a.b = 1\nc = [true, 1.5]\n[[d]]\ne = "f"\n'))) == {
        "a/b": "1",
        "c": "true, 1.5",
        "d/0/e": "f",
    }
