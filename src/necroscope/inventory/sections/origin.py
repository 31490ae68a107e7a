"""Who put a unit file where it is, told by its place and by the package that owns it."""

from __future__ import annotations

from collections.abc import Mapping

from necroscope.model.inventory import Origin
from necroscope.model.reading import Reading

GENERATED = ("/run/systemd/generator",)  # also generator.early and generator.late
RUNTIME = ("/run/",)
LOCAL = ("/etc/", "/usr/local/")
SHIPPED = ("/usr/", "/lib/", "/opt/")


def origin_of(path: str, state: str, package: str, owners: Reading[Mapping[str, str]]) -> Origin:
    """`owners` is the reading of the package database: without one a file below /usr may be anybody's."""
    if path.startswith(GENERATED) or state == "generated":
        return Origin.GENERATED
    if path.startswith(RUNTIME):
        return Origin.RUNTIME
    if package:
        return Origin.PACKAGE
    if path.startswith(LOCAL):
        return Origin.LOCAL
    if path.startswith(SHIPPED) and owners.absence is None:
        return Origin.IMAGE
    return Origin.UNKNOWN
