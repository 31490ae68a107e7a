"""Render the Helm chart as the bases of kustomize: the chart is what is edited.

python -m deploy.kubernetes.render        needs helm: scripts/go-programs helm
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from lab.machines.go_programs import go_program, missing

KUSTOMIZE = Path(__file__).parent
CHART = KUSTOMIZE.parent / "helm/necroscope"
LEVELS = ("minimal", "perf", "full")
BASE = ("namespace", "service-account", "cluster-role", "admission-policies", "config", "network-policy")
HEAD = "# Rendered from deploy/helm/necroscope by `make deploy-files`: change that, and not this file.\n"
DOCUMENT = re.compile(r"^---\n# Source: necroscope/templates/([\w-]+)\.yaml\n", re.MULTILINE)
# What only an installation by Helm has.
HELM_ONLY = re.compile(
    r"^ *(?:app\.kubernetes\.io/managed-by|helm\.sh/chart|necroscope\.dev/config-sha256): .*\n", re.MULTILINE
)


def rendered_files() -> dict[Path, str]:
    """Return the text of each file that is rendered."""
    templates = {level: _rendered(level) for level in LEVELS}
    names = {KUSTOMIZE / f"base/{name}.yaml": name for name in BASE}
    names[KUSTOMIZE / "components/pod-monitor/pod-monitor.yaml"] = "pod-monitor"
    return {path: templates["perf"][name] for path, name in names.items()} | {
        KUSTOMIZE / f"daemon-sets/{level}/daemon-set.yaml": made["daemon-set"]
        for level, made in templates.items()
    }


def _rendered(level: str) -> dict[str, str]:
    """Return the objects of each template, as YAML."""
    settings = f"level={level},namespace.create=true,podMonitor.enabled=true"
    command = [go_program("helm") or "helm", "template", "necroscope", CHART]
    done = subprocess.run(
        [*command, "--namespace", "necroscope", "--set", settings], capture_output=True, text=True, check=True
    )
    _, *parts = DOCUMENT.split(done.stdout)
    made: dict[str, list[str]] = {}
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        made.setdefault(name, []).append(HELM_ONLY.sub("", text).strip("\n") + "\n")
    return {name: HEAD + "---\n".join(texts) for name, texts in made.items()}


def main() -> None:
    """Write them into the repository."""
    if reason := missing("helm"):
        sys.exit(reason)
    for path, text in rendered_files().items():
        path.write_text(text)


if __name__ == "__main__":
    main()
