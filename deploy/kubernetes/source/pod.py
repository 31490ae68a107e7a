"""The pod: one container that records, and one before it that makes the store its own."""

from __future__ import annotations

from typing import Any

from deploy.kubernetes.source.levels import ROOT, USER, Level
from deploy.kubernetes.source.markers import ChartOnly, Optional, Spread, Text, Value, When
from deploy.kubernetes.source.values import NAME, SELECTOR, VALUES, VERSION
from deploy.kubernetes.source.volumes import HEARTBEAT, STORE, TEMPORARY, mounts, volumes

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


# The kubelet makes a host path as root's, and another level, user or version may have written to it. While it
# changes hands, all its folders are root's, the outer ones first: so nobody else gets in, and root reads them
# without a further capability. The mode says that it is done, also after this was killed in the middle. What
# an older version has in .fixes (records of changes to the node) stays as it is.
PREPARE_SCRIPT = """\
[ "$(stat -c %u:%a "$1")" != "$2:750" ] || exit 0
chown 0:0 "$1"
chmod 00700 "$1"
find "$1" -mindepth 1 -path "$1/.fixes" -prune -o \\
  -type d -exec chown -h 0:0 {} \\; -exec chmod u+rwx,go-w {} \\;
find "$1" -mindepth 1 -maxdepth 1 ! -name .fixes -exec chown -R "$2:$2" {} +
chmod 00750 "$1"
chown "$2:$2" "$1"
"""


def _prepare(level: Level) -> dict[str, Any]:
    """Make the store the recorder's own, and nobody else's to read."""
    return {
        "name": PREPARE,
        "image": IMAGE,
        "imagePullPolicy": VALUES["image.pullPolicy"],
        "command": ["sh", "-euc", PREPARE_SCRIPT, "sh", STORE, _word("{}", level.owner)],
        "securityContext": _security(ROOT, ("CHOWN",)),
        "resources": {
            "requests": {"cpu": "10m", "memory": "16Mi"},
            "limits": {"cpu": "500m", "memory": "64Mi"},
        },
        "volumeMounts": [{"name": "store", "mountPath": STORE}],
    }


def _word(form: str, value: Value | int) -> Text | str:
    """A word of a command line with a number in it."""
    return form.format(value) if isinstance(value, int) else Text(form, (value,))


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
        "livenessProbe": _liveness(),
        "readinessProbe": _readiness(),
        "resources": VALUES["resources"],
        "securityContext": {**_security(level.starts_as, level.container_capabilities), **confined},
        "volumeMounts": mounts(level),
    }


def _command(level: Level) -> list[Text | str]:
    if not level.gives_root_up:
        return ["necroscope"]
    # Kubernetes gives capabilities to root only: it starts as root, and goes on as another with just these.
    kept = "".join(f",+{name.lower()}" for name in level.capabilities)
    who = [_word("--reuid={}", USER), _word("--regid={}", USER), "--clear-groups"]
    return ["setpriv", *who, f"--inh-caps=-all{kept}", f"--ambient-caps=-all{kept}", "--", "necroscope"]


def _arguments(level: Level) -> list[Any]:
    return [
        "record",
        "--root=/host",
        f"--store={STORE}",
        "--config=/etc/necroscope/config.toml",
        Text("--listen={}", (LISTEN,)),
        f"--heartbeat={HEARTBEAT}",
        *(() if level.has_samples else ("--rate=0",)),
        When(REPORT, ("--kubernetes",)),
    ]


def _liveness() -> dict[str, Any]:
    """Whether the recorder still reads the node. Not by a port: what other pods reach, they can keep busy.

    A starved node is no reason to end the one that records why: minutes pass before it is.
    """
    return {
        "exec": {"command": ["sh", "-c", f'test -n "$(find {HEARTBEAT} -mmin -2)"']},
        "periodSeconds": 60,
        "timeoutSeconds": 30,
        "failureThreshold": 5,
    }


def _readiness() -> dict[str, Any]:
    """Whether it can be scraped."""
    return {
        "httpGet": {"path": "/healthz", "port": "metrics"},
        "periodSeconds": 30,
        "timeoutSeconds": 5,
        "failureThreshold": 2,
    }


def _security(user: Value | int, capabilities: tuple[str, ...]) -> dict[str, Any]:
    return {
        "runAsUser": user,
        "runAsGroup": user,
        **({"runAsNonRoot": True} if user != ROOT else {}),
        "allowPrivilegeEscalation": False,
        "privileged": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"], **({"add": list(capabilities)} if capabilities else {})},
    }
