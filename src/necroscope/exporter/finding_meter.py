"""How many findings of each kind stood in the last minutes recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from necroscope.exporter.families import Sample
from necroscope.model.finding import Severity
from necroscope.model.node_state import NodeState


def finding_samples(state: NodeState | None) -> Iterator[Sample]:
    """All severities of every detector that could look; nothing where nothing was examined."""
    if state is None:
        return
    counts = Counter((finding.id, finding.severity) for finding in state.findings)
    for detector in state.checked:
        for severity in Severity:
            labels = (detector, severity.value)
            yield Sample("necroscope_findings_active", labels, counts[detector, severity])
    yield Sample("necroscope_findings_examined_timestamp_seconds", (), state.examined_utc_ns / 1e9)
