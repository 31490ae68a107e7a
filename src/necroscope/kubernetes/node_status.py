"""The conditions in the status of our own node: read, set, and taken off.

They are patched by a strategic merge, whose key is the type of a condition: those of the kubelet and of other
agents are not in the patch and stay as they are. Any other kind of patch would replace the whole list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from necroscope.kubernetes.condition import Condition
from necroscope.kubernetes.conditions import condition_rules
from necroscope.kubernetes.names import DOMAIN, FIELD_MANAGER
from necroscope.model.timestamp import iso_utc_seconds


@dataclass(frozen=True, slots=True)
class Standing:
    """A condition of ours as it stands in the cluster."""

    type: str
    status: str
    reason: str
    message: str
    since: str
    heartbeat: str


def node_path(node: str) -> str:
    """Where our node is read. resourceVersion=0: as the API server remembers it, without asking its store."""
    return f"/api/v1/nodes/{quote(node, safe='')}?resourceVersion=0"


def status_path(node: str) -> str:
    """Where its status is patched."""
    return f"/api/v1/nodes/{quote(node, safe='')}/status?fieldManager={FIELD_MANAGER}"


def standing_conditions(document: Any) -> dict[str, Standing]:
    """Our conditions in a node that the API server described, by type."""
    status = document.get("status") if isinstance(document, dict) else None
    rows = status.get("conditions") if isinstance(status, dict) else None
    found = [row for row in rows or () if isinstance(row, dict)]
    own = [_standing(row) for row in found if str(row.get("type", "")).startswith(f"{DOMAIN}/")]
    return {one.type: one for one in own}


def _standing(row: Mapping[str, Any]) -> Standing:
    names = ("type", "status", "reason", "message", "lastTransitionTime", "lastHeartbeatTime")
    return Standing(*(str(row.get(name) or "") for name in names))


def node_uid(document: Any) -> str:
    """The uid of a node that the API server described."""
    metadata = document.get("metadata") if isinstance(document, dict) else None
    return str(metadata.get("uid") or "") if isinstance(metadata, dict) else ""


def conditions_patch(
    conditions: Sequence[Condition], standing: Mapping[str, Standing], now_ns: int
) -> dict[str, Any]:
    """The patch that sets them. Since when a status stands is kept as long as it is the same."""
    now = iso_utc_seconds(now_ns)
    rows = []
    for one in conditions:
        before = standing.get(one.type)
        is_same = before is not None and before.status == one.status and before.since
        rows.append(
            {
                "type": one.type,
                "status": one.status,
                "reason": one.reason,
                "message": one.message,
                "lastHeartbeatTime": now,
                "lastTransitionTime": before.since if before and is_same else now,
            }
        )
    return {"status": {"conditions": rows}}


def removal_patch(standing: Mapping[str, Standing]) -> dict[str, Any]:
    """The patch that takes off those of our conditions that stand."""
    types = [rule.type for rule in condition_rules() if rule.type in standing]
    return {"status": {"conditions": [{"$patch": "delete", "type": type} for type in types]}}
