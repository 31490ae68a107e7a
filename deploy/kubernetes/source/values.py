"""The values of the chart: their defaults are what kustomize has."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from deploy.kubernetes.source.markers import BuiltIn, Value

ROOT = Path(__file__).parents[3]
VERSION: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
NAME = "necroscope"
PORT = 9464
LABELS = {"app.kubernetes.io/name": NAME}
SELECTOR = {**LABELS, "app.kubernetes.io/component": "recorder"}  # of pods; on reserved nodes it is another
NAMESPACE = BuiltIn(".Release.Namespace", NAME)
LEVELS = ("minimal", "perf", "full")
# Above what useradd and systemd hand out (DynamicUser= up to 65519), and below 65536, from where on user
# namespaces of pods and containers are mapped. 65532 is the user of many images, 65534 is nobody.
USER = 65522

CONFIG = """\
# As /etc/necroscope/config.toml of the recorder: docs/recorder.md. What is on the command line wins.
[record]
segment = "120s"
budget = "8GiB"
kept_budget = "2GiB"
age = "7d"
"""

STRING = {"type": "string"}
WORD = {"type": "string", "minLength": 1}
FLAG = {"type": "boolean"}
STRINGS = {"type": "object", "additionalProperties": STRING}
OBJECT = {"type": "object"}
OBJECTS = {"type": "array", "items": OBJECT}
PATH = {"type": "string", "pattern": "^/.+"}

# In the order of values.yaml.
_ROWS: tuple[tuple[str, Any, str, dict[str, Any]], ...] = (
    (
        "level",
        "perf",
        "What the recorder may see: minimal, perf or full. docs/kubernetes.md says what each buys.",
        {"enum": list(LEVELS)},
    ),
    ("image.repository", NAME, "Where the image is: deploy/image builds it.", WORD),
    ("image.tag", VERSION, "Its version, or with @sha256:... behind it, exactly this build.", WORD),
    ("image.pullPolicy", "IfNotPresent", "", {"enum": ["Always", "IfNotPresent", "Never"]}),
    ("image.pullSecrets", [], "Secrets to pull with, as [{name: registry}].", OBJECTS),
    ("config", CONFIG, "The recorder's configuration, in TOML. Pods are replaced when it changes.", STRING),
    ("store.path", "/var/lib/necroscope", "Where on the node recordings are kept, and stay.", PATH),
    (
        "user",
        USER,
        "Uid and gid of the recorder and its store at minimal and perf; nothing else on a node may have it.",
        {"type": "integer", "minimum": 1, "maximum": 4294967294},
    ),
    (
        "listen.address",
        "0.0.0.0",
        "Where /metrics and /healthz answer, in the pod's own network. On an IPv6-only cluster: [::]",
        WORD,
    ),
    ("listen.port", PORT, "", {"type": "integer", "minimum": 1024, "maximum": 65535}),
    (
        "kubernetes.report",
        True,
        "Conditions on the node and events. Without: no token, and no right in the cluster at all.",
        FLAG,
    ),
    (
        "networkPolicy.enabled",
        True,
        "Only who is named in `from` reaches the metrics, if the network of the cluster enforces policies.",
        FLAG,
    ),
    (
        "networkPolicy.from",
        [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}],
        "Where your Prometheus is, as in a NetworkPolicy: by default all pods of the namespace `monitoring`.",
        {**OBJECTS, "minItems": 1},
    ),
    ("podMonitor.enabled", False, "A PodMonitor, for the Prometheus operator.", FLAG),
    ("podMonitor.interval", "15s", "", WORD),
    ("podMonitor.labels", {}, "Labels by which your Prometheus selects it.", STRINGS),
    (
        "resources",
        {"requests": {"cpu": "30m", "memory": "128Mi"}, "limits": {"cpu": "500m", "memory": "512Mi"}},
        "From what was measured on 2 and on 96 cores: docs/kubernetes.md, What it costs.",
        OBJECT,
    ),
    ("nodeSelector", {"kubernetes.io/os": "linux"}, "Which nodes.", STRINGS),
    ("tolerations", [{"operator": "Exists"}], "All taints: a sick node is the one to be seen.", OBJECTS),
    ("affinity", {}, "", OBJECT),
    (
        "priorityClassName",
        "system-node-critical",
        "So that it is not the first to go when memory is short.",
        STRING,
    ),
    (
        "seLinuxOptions",
        {},
        "On nodes that enforce SELinux, {type: spc_t}: else it may not read what is another's.",
        STRINGS,
    ),
    (
        "updateStrategy",
        {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
        "How many nodes are without a recorder during an upgrade.",
        OBJECT,
    ),
    (
        "terminationGracePeriodSeconds",
        90,
        "It seals what it has recorded when it is stopped, which takes seconds.",
        {"type": "integer", "minimum": 10},
    ),
    (
        "extraEnv",
        [],
        "More of the environment, as [{name: ..., value: ...}]: credentials of [fleet] place, say.",
        OBJECTS,
    ),
    ("labels", {}, "Further labels of all objects.", STRINGS),
    ("podLabels", {}, "Further labels of the pods.", STRINGS),
    ("podAnnotations", {}, "", STRINGS),
    (
        "namespace.create",
        False,
        "The namespace as an object of the chart: for `helm template`. With `helm install`, make it before.",
        FLAG,
    ),
)
VALUES = {row[0]: Value(*row) for row in _ROWS}
