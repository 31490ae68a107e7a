"""Configuration files as flat names, and YAML that is not plain."""

from __future__ import annotations

import time

import pytest

from necroscope.inventory.sections.flat import flatten, parse_json, parse_plain_yaml, parse_toml

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
    return dict(flatten(parse_plain_yaml(text)))


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


@pytest.mark.parametrize(
    "text",
    [
        "a: &anchor b",
        "a: *anchor",
        "a: |\n  block",
        "a: >-\n  block",
        "a: !tag b",
        "a: {b: c}",
        "a: [b, {c: d}]",
        "a: 'cut",
        "a:\n\tb: c",
        "a: b\n---\nc: d",
        "a: b\n   c: d",
        "- a\nb: c",
        "\n".join(" " * n + f"k{n}:" for n in range(200)),
    ],
)
def test_what_is_not_plain_is_an_error_that_quotes_nothing(text: str) -> None:
    with pytest.raises(ValueError, match=r"^[^&*!|>'{]+$"):
        parse_plain_yaml(text)


def test_hostile_text_is_quick() -> None:
    begin = time.monotonic()
    for text in ("a" + " " * 500_000 + "b", "- " * 200_000, "'" * 500_000, "a:\n" * 100_000, "-" * 500_000):
        try:
            dict(flatten(parse_plain_yaml(text)))
        except ValueError:
            continue
    assert time.monotonic() - begin < 5


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
