"""What would be done about a finding, step by step, before anything is done."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Treatment:
    """A remedy, and what it is for."""

    remedy: str  # an id of model/remedy_ids.py
    subject: str  # a unit, a core; empty where it is for the machine

    def __str__(self) -> str:
        return f"{self.remedy} {self.subject}".strip()


@dataclass(frozen=True, slots=True)
class Step:
    """One change of the machine."""

    action: str  # the kind of change, an id of remedies/actions
    target: str  # what is changed: a unit, a file, a cgroup, an interrupt
    value: str  # what it becomes: the text of a file, where a link leads, a list of cores
    command: str  # the same by hand; several lines where it takes several
    why: str
    risk: str  # what may go wrong; empty where nothing is known
    cost: str  # what it costs where all goes well; empty where nothing
    undo: str  # what takes it back, in words or as a command; why nothing has to be


@dataclass(frozen=True, slots=True)
class ByHand:
    """What only a person may do, for whom the commands are written down."""

    commands: tuple[str, ...]
    why: str
    cost: str


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something that the plan relies on. Where it is otherwise, the plan is not carried out."""

    name: str  # ecs.service: unit file
    value: str  # /usr/lib/systemd/system/ecs.service sha256:...


@dataclass(frozen=True, slots=True)
class Goal:
    """What has to get better, by which `verify` judges."""

    quantity: str  # an id of remedies/verify
    subject: str  # a unit, a device; empty where it is the machine's

    def __str__(self) -> str:
        return f"{self.quantity} of {self.subject}" if self.subject else self.quantity


@dataclass(frozen=True, slots=True)
class Plan:
    """The treatments of one host, and what it looked like when they were chosen."""

    host: str
    machine_id: str
    root: str  # "/", or the folder of an image or of a container's host
    is_image: bool  # nothing runs there: files and links alone are changed
    made_at: str  # UTC
    reasons: tuple[str, ...]  # what was found, in sentences
    seen: tuple[str, ...]  # what the remedies' choices rest on, with numbers; differs from look to look
    treatments: tuple[Treatment, ...]
    assumptions: tuple[Assumption, ...]
    steps: tuple[Step, ...]
    by_hand: tuple[ByHand, ...]
    goals: tuple[Goal, ...]
    warnings: tuple[str, ...]  # what else these steps do: who is stopped along, what is loaded again
    vital: tuple[str, ...]  # units that would be stopped and that a node cannot do without, and why

    @property
    def where(self) -> str:
        """Whose plan it is, in words."""
        return f"the image {self.root}" if self.is_image else self.host or "this host"
