"""Names and labels, the same on all objects."""

from __future__ import annotations

from typing import Any

from deploy.kubernetes.source.markers import ChartOnly, Spread, Value
from deploy.kubernetes.source.values import NAME, NAMESPACE, SELECTOR, VALUES, VERSION

_HELM = (
    ("app.kubernetes.io/managed-by", "{{ .Release.Service }}"),
    ("helm.sh/chart", f"{NAME}-{VERSION}"),
)


def labels() -> dict[Any, Any]:
    """What an object is found by."""
    return {
        **SELECTOR,
        "app.kubernetes.io/version": VERSION,
        **{ChartOnly(Value(template, None, "", {})): key for key, template in _HELM},
        Spread(VALUES["labels"]): None,
    }


def metadata(name: str = NAME, *, cluster_wide: bool = False) -> dict[str, Any]:
    """The metadata of an object."""
    place: dict[str, Any] = {} if cluster_wide else {"namespace": NAMESPACE}
    return {"name": name, **place, "labels": labels()}
