"""Shipping from the recorder: which command, and what of it the recorder tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from necroscope.agent.shipper import Shipper
from necroscope.model.recorder_status import ShipStatus
from necroscope.sources.host import Host
from necroscope.store.child import OURSELVES
from necroscope.store.config import FleetSettings


class AgentShipping:
    """Ships where the settings name a place, and does nothing where they do not."""

    def __init__(
        self, host: Host, store: Path, config: Path | None, settings: Callable[[], FleetSettings]
    ) -> None:
        self.shipper: Shipper | None = None
        self._host = host
        self._store = store
        self._config = config
        self._settings = settings
        self.load()

    @property
    def status(self) -> ShipStatus | None:
        """How it goes; None: nothing is shipped."""
        if not (self.shipper and self.shipper.is_on):
            return None
        return replace(self.shipper.status, every_seconds=self.shipper.every_seconds)

    def load(self) -> None:
        """Read the settings, again at every SIGHUP."""
        settings = self._settings()
        command = self._command(settings)
        if self.shipper:
            self.shipper.is_on = bool(settings.place)
            self.shipper.command, self.shipper.every_seconds = command, settings.every_seconds
        elif settings.place:
            self.shipper = Shipper(command, settings.every_seconds)

    def tick(self, tell: Callable[[str, str], None]) -> None:
        """See to the child, and tell what changed."""
        if self.shipper:
            self.shipper.tick()
            tell("shipping", self.shipper.status.error)
            tell("not shipped", self.shipper.status.problems)

    def finish(self) -> None:
        """The last attempt; all that was recorded is sealed."""
        if self.shipper:
            self.shipper.finish()

    def _command(self, settings: FleetSettings) -> list[str]:
        command = [*OURSELVES, "fleet", "ship", "--json", "--store", str(self._store)]
        command += ["--fleet", settings.place, "--root", str(self._host.root)]
        return [*command, "--config", str(self._config)] if self._config else command
