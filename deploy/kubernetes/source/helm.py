"""The Helm chart: the same objects as templates, the values, their schema, and what is said in the end."""

from __future__ import annotations

import json
from typing import Any

from deploy.kubernetes.source.kustomize import GENERATED
from deploy.kubernetes.source.markers import Value
from deploy.kubernetes.source.objects import BASE, DAEMON_SETS, POD_MONITOR, Part
from deploy.kubernetes.source.template import template
from deploy.kubernetes.source.values import NAME, VALUES, VERSION
from deploy.kubernetes.source.yaml_text import yaml_text

# Bound tokens name their node, and policies in CEL are stable, since 1.30.
OLDEST_KUBERNETES = ">=1.30.0-0"
NOT_EMPTY = {"enum", "minItems", "minLength", "minimum", "pattern"}  # of a value that must be there
NOTES = """\
The recorder runs on every node with {{ .Values.nodeSelector | toJson }}, at the level {{ .Values.level }}.

  kubectl -n {{ .Release.Namespace }} rollout status daemonset/necroscope
  kubectl -n {{ .Release.Namespace }} logs daemonset/necroscope

What it cannot see on a node, and why:

  kubectl -n {{ .Release.Namespace }} port-forward daemonset/necroscope {{ .Values.listen.port }} &
  curl -s localhost:{{ .Values.listen.port }}/metrics | grep 'source_up.* 0$'

Pods that PodSecurity forbids: the namespace needs a label, since the recorder mounts the node's files.

  kubectl label namespace {{ .Release.Namespace }} pod-security.kubernetes.io/enforce=privileged
{{- if .Values.networkPolicy.enabled }}

Who may scrape it, if the network enforces policies:

  {{ .Values.networkPolicy.from | toJson }}
{{- end }}
{{- if .Values.kubernetes.report }}

What it says of the nodes:

  kubectl get nodes -o json | jq '.items[] | {name: .metadata.name, conditions: [.status.conditions[]
    | select(.type | startswith("necroscope.dev/")) | select(.status == "True") | .type]}'
{{- end }}
"""


def helm_files() -> dict[str, str]:
    """The text of each file, by its path below deploy/helm/necroscope."""
    parts = (*BASE, *DAEMON_SETS.values(), POD_MONITOR)
    return {
        "Chart.yaml": _chart(),
        "values.yaml": _values(),
        "values.schema.json": json.dumps(_schema(), indent=2) + "\n",
        "templates/NOTES.txt": NOTES,
        **{f"templates/{part.name}.yaml": _template(part) for part in parts},
    }


def _chart() -> str:
    return GENERATED + yaml_text(
        {
            "apiVersion": "v2",
            "name": NAME,
            "description": "Find what starves a Linux node: every core, every zombie cgroup, every NIC reset",
            "type": "application",
            "version": VERSION,
            "appVersion": VERSION,
            "kubeVersion": OLDEST_KUBERNETES,
            "home": "https://necroscope.dev/docs/kubernetes.md",
            "annotations": {"artifacthub.io/license": "Apache-2.0"},
        }
    )


def _template(part: Part) -> str:
    text = "---\n".join(map(template, part.objects))
    return f"{{{{- {part.condition} }}}}\n{text}{{{{- end }}}}\n" if part.condition else text


def _values() -> str:
    lines = [GENERATED.rstrip("\n")]
    open_tables: list[str] = []
    for value in VALUES.values():
        *tables, name = value.name.split(".")
        if tables != open_tables:
            lines += ["", *(f"{table}:" for table in tables)]
            open_tables = tables
        elif not tables:
            lines.append("")
        indent = "  " * len(tables)
        if value.says:
            lines.append(f"{indent}# {value.says}")
        lines += [f"{indent}{line}" for line in yaml_text({name: value.default}).splitlines()]
    return "\n".join(lines) + "\n"


def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "additionalProperties": False,
        "properties": {"global": {"type": "object"}},  # Helm's own, for charts that contain this one
    }
    for value in VALUES.values():
        _add(schema, value.name.split("."), value)
    return schema


def _add(schema: dict[str, Any], names: list[str], value: Value) -> None:
    name, *rest = names
    if rest:
        table = {"type": "object", "additionalProperties": False, "properties": {}}
        _add(schema["properties"].setdefault(name, table), rest, value)
        return
    schema["properties"][name] = {**value.schema, **({"description": value.says} if value.says else {})}
    if NOT_EMPTY & value.schema.keys():  # `--set NAME=null` would take it away
        schema.setdefault("required", []).append(name)
