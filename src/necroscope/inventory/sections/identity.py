"""Who a host is: what tells it from all others. Others know it by that; no host differs by it.

Reads    what sources/instance.py reads
Needs    nothing
Costs    nothing beside the labels

`drift` and the questions of the fleet never compare these; they join what another system says of a host, as
Ray says which address a job ran on.
"""

from __future__ import annotations

from necroscope.inventory.sections.gathered import Facts, Gathered
from necroscope.inventory.sections.subject import Subject
from necroscope.model.reading import Reading

IDENTITY = "identity"  # the name of this section
OF_INSTANCE = ("address", "instance_id")


def read_identity(subject: Subject) -> Reading[Facts]:
    """The address and the cloud's name of a host, where they are known."""
    gathered = Gathered()
    for name in OF_INSTANCE:
        gathered.add_known(name, str(getattr(subject.instance.value, name, "")))
    return gathered.reading()
