from __future__ import annotations

from collections.abc import Mapping

import pytest

from necroscope.inventory.sections.origin import origin_of
from necroscope.model.inventory import Origin
from necroscope.model.reading import Absence, Reading

DATABASE: Reading[Mapping[str, str]] = Reading({})
NONE: Reading[Mapping[str, str]] = Reading(absence=Absence.NOT_SUPPORTED)


@pytest.mark.parametrize(
    ("path", "state", "package", "owners", "origin"),
    [
        ("/usr/lib/systemd/system/a.service", "enabled", "a", DATABASE, Origin.PACKAGE),
        ("/usr/lib/systemd/system/a.service", "enabled", "", DATABASE, Origin.IMAGE),
        ("/lib/systemd/system/a.service", "enabled", "", DATABASE, Origin.IMAGE),
        ("/usr/lib/systemd/system/a.service", "enabled", "", NONE, Origin.UNKNOWN),
        ("/etc/systemd/system/a.service", "enabled", "", DATABASE, Origin.LOCAL),
        ("/etc/systemd/system/a.service", "enabled", "", NONE, Origin.LOCAL),
        ("/etc/systemd/system/a.service", "enabled", "a", DATABASE, Origin.PACKAGE),
        ("/usr/local/lib/systemd/system/a.service", "enabled", "", DATABASE, Origin.LOCAL),
        ("/run/systemd/generator.late/a.service", "generated", "", DATABASE, Origin.GENERATED),
        ("/etc/init.d/a", "generated", "a", DATABASE, Origin.GENERATED),
        ("/run/systemd/transient/a.service", "transient", "", DATABASE, Origin.RUNTIME),
    ],
)
def test_origin(
    path: str, state: str, package: str, owners: Reading[Mapping[str, str]], origin: Origin
) -> None:
    assert origin_of(path, state, package, owners) is origin
