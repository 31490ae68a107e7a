"""The pod: one container that records, and one before it that makes the store its own."""

from __future__ import annotations

from typing import Any

from deploy.kubernetes.source.levels import USER, Level
from deploy.kubernetes.source.markers import ChartOnly, Optional, Spread, Text, Value, When
from deploy.kubernetes.source.values import NAME, VALUES, VERSION
from deploy.kubernetes.source.volumes import STORE, TEMPORARY, mounts, volumes
from necroscope.exporter.operator_rules import SELECTOR

RECORDER, PREPARE = "recorder", "own-the-store"
REPORT = VALUES["kubernetes.report"]
IMAGE = Text("{}:{}", (VALUES["image.repository"], VALUES["image.tag"]))
# So that pods are replaced when the configuration changes.
CONFIG_SUM = ChartOnly(Value("{{ .Values.config | sha256sum }}", None, "", {}))
LISTEN = Text("{}:{}", (VALUES["listen.address"], VALUES["listen.port"]))


def pod_template(level: Level) -> dict[str, Any]:
    """What runs on each node."""
    labels = {**SELECTOR, "app.kubernetes.io/version": VERSION, f"{NAME}.dev/level": level.name}
    head: dict[str, dict[Any, Any]] = {
        "labels": {**labels, Spread(VALUES["podLabels"]): None},
        "annotations": {
            "kubectl.kubernetes.io/default-container": RECORDER,
            CONFIG_SUM: f"{NAME}.dev/config-sha256",
            Spread(VALUES["podAnnotations"]): None,
        },
    }
    return {"metadata": head, "spec": _spec(level)}


def _spec(level: Level) -> dict[str, Any]:
    return {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": False,  # below, with an end and only where it is needed
        "enableServiceLinks": False,
        **({"hostPID": True} if level.has_host_pids else {}),
        "priorityClassName": Optional(VALUES["priorityClassName"]),
        "nodeSelector": Optional(VALUES["nodeSelector"]),
        "affinity": Optional(VALUES["affinity"]),
        "tolerations": Optional(VALUES["tolerations"]),
        "imagePullSecrets": Optional(VALUES["image.pullSecrets"]),
        "terminationGracePeriodSeconds": VALUES["terminationGracePeriodSeconds"],
        # The group lets the recorder read its token at every level.
        "securityContext": {
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
            "seLinuxOptions": Optional(VALUES["seLinuxOptions"]),
        },
        "initContainers": [_prepare(level)],
        "containers": [_recorder(level)],
        "volumes": volumes(level),
    }


def _prepare(level: Level) -> dict[str, Any]:
    """The kubelet makes a host path as root's, and another level may have written to it.

    What is root's anyway can be handed on with one capability; to take over another's folders needs two.
    """
    owner = level.owner
    script = (
        f"if [ -O {STORE} ]; then chmod 750 {STORE}; fi\n"
        f'if [ "$(stat -c %u {STORE})" != {owner} ]; then chown -R {owner}:{owner} {STORE}; fi\n'
    )
    return {
        "name": PREPARE,
        "image": IMAGE,
        "imagePullPolicy": VALUES["image.pullPolicy"],
        "command": ["sh", "-euc", script],
        "securityContext": _security(0, ("CHOWN", *(() if owner else ("DAC_READ_SEARCH",)))),
        "resources": {
            "requests": {"cpu": "10m", "memory": "16Mi"},
            "limits": {"cpu": "500m", "memory": "64Mi"},
        },
        "volumeMounts": [{"name": "store", "mountPath": STORE}],
    }


def _recorder(level: Level) -> dict[str, Any]:
    confined = {} if not level.stays_root else {"appArmorProfile": {"type": "Unconfined"}}
    return {
        "name": RECORDER,
        "image": IMAGE,
        "imagePullPolicy": VALUES["image.pullPolicy"],
        "command": _command(level),
        "args": _arguments(level),
        "workingDir": TEMPORARY,  # which can be written: `flame -o e.svg`
        "env": [
            {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            # Whoever asks something in the pod asks about the node.
            {"name": "NECROSCOPE_ROOT", "value": "/host"},
            {"name": "TMPDIR", "value": TEMPORARY},
            Spread(VALUES["extraEnv"]),
        ],
        "ports": [{"name": "metrics", "containerPort": VALUES["listen.port"], "protocol": "TCP"}],
        # A starved node is no reason to end the one that records why: minutes pass before it is.
        "livenessProbe": _probe(failures=10, timeout_seconds=10),
        "readinessProbe": _probe(failures=2, timeout_seconds=5),
        "resources": VALUES["resources"],
        "securityContext": {**_security(level.starts_as, level.container_capabilities), **confined},
        "volumeMounts": mounts(level),
    }


def _command(level: Level) -> list[str]:
    if not level.gives_root_up:
        return ["necroscope"]
    # Kubernetes gives capabilities to root only: it starts as root, and goes on as another with just these.
    kept = "".join(f",+{name.lower()}" for name in level.capabilities)
    who = [f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    return ["setpriv", *who, f"--inh-caps=-all{kept}", f"--ambient-caps=-all{kept}", "--", "necroscope"]


def _arguments(level: Level) -> list[Any]:
    return [
        "record",
        "--root=/host",
        f"--store={STORE}",
        "--config=/etc/necroscope/config.toml",
        Text("--listen={}", (LISTEN,)),
        *(() if level.has_samples else ("--rate=0",)),
        When(REPORT, ("--kubernetes",)),
    ]


def _probe(failures: int, timeout_seconds: int) -> dict[str, Any]:
    return {
        "httpGet": {"path": "/healthz", "port": "metrics"},
        "periodSeconds": 30,
        "timeoutSeconds": timeout_seconds,
        "failureThreshold": failures,
    }


def _security(user: int, capabilities: tuple[str, ...]) -> dict[str, Any]:
    return {
        "runAsUser": user,
        "runAsGroup": user,
        **({"runAsNonRoot": True} if user else {}),
        "allowPrivilegeEscalation": False,
        "privileged": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"], **({"add": list(capabilities)} if capabilities else {})},
    }
