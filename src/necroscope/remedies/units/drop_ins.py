"""Where a drop-in of ours goes."""

from __future__ import annotations

from collections.abc import Collection

from necroscope.remedies.units.subject import SubjectUnit
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_tree import PERSISTENT


def drop_in_path(host: Host, unit: SubjectUnit, stem: str, keys: Collection[str]) -> str:
    """50-STEM.conf, as is the custom; last of all where a later drop-in has one of these settings.

    `systemctl edit` writes override.conf, which counts after every number.
    """
    folder = f"{PERSISTENT}/{unit.name}.d"
    usual = f"50-{stem}.conf"
    for path in unit.file.drop_ins if unit.file else ():
        name = path.rpartition("/")[2]
        if name > usual and stem not in name:
            text = host.read_regular(path, "replace").value or ""
            if any(key in text for key in keys):
                return f"{folder}/zz-{stem}.conf"
    return f"{folder}/{usual}"
