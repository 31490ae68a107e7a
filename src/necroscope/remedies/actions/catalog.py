"""All kinds of change, by id."""

from __future__ import annotations

from necroscope.remedies.actions.action import Action
from necroscope.remedies.actions.drop_caches import DROP_CACHES
from necroscope.remedies.actions.force_empty import FORCE_EMPTY
from necroscope.remedies.actions.make_link import MAKE_LINK
from necroscope.remedies.actions.reclaim import RECLAIM
from necroscope.remedies.actions.remove_links import REMOVE_LINKS
from necroscope.remedies.actions.restart_unit import RESTART_UNIT
from necroscope.remedies.actions.set_affinity import SET_AFFINITY
from necroscope.remedies.actions.stop_unit import STOP_UNIT
from necroscope.remedies.actions.write_file import WRITE_FILE

ALL_ACTIONS: dict[str, Action] = {
    action.id: action
    for action in (
        STOP_UNIT,
        REMOVE_LINKS,
        MAKE_LINK,
        WRITE_FILE,
        DROP_CACHES,
        FORCE_EMPTY,
        RECLAIM,
        SET_AFFINITY,
        RESTART_UNIT,
    )
}
