"""Every generated file, and the folders in which all files are generated."""

from __future__ import annotations

from pathlib import Path

from deploy.kubernetes.source.helm import helm_files
from deploy.kubernetes.source.kustomize import kustomize_files
from deploy.kubernetes.source.values import NAME, ROOT

KUSTOMIZE = ROOT / "deploy/kubernetes"
CHART = ROOT / "deploy/helm" / NAME
FOLDERS = (*(KUSTOMIZE / name for name in ("base", "components", "daemon-sets", "overlays")), CHART)


def all_files() -> dict[Path, str]:
    """Path and text of each."""
    return {
        **{KUSTOMIZE / name: text for name, text in kustomize_files().items()},
        **{CHART / name: text for name, text in helm_files().items()},
    }
