// Events that would cover each other on the screen become one mark with a count.

import type { RecordedEvent } from "../../api/types";
import { partAt } from "../../heatmap/viewport";
import type { Viewport } from "../../heatmap/viewport";
import { lookOf } from "../../parts/event_kinds";

export interface Crowd {
  readonly events: RecordedEvent[]; // oldest first
  readonly main: RecordedEvent; // the one that matters most, the first of these
  readonly part: number; // where the mark stands, 0 to 1
}

function mainOf(events: RecordedEvent[]): RecordedEvent {
  return events.reduce((main, one) => (lookOf(one.kind).rank > lookOf(main.kind).rank ? one : main));
}

/** `apart`: how far marks must stand from each other, as a part of the width. Events come oldest first. */
export function crowds(events: RecordedEvent[], view: Viewport, apart: number): Crowd[] {
  const groups: RecordedEvent[][] = [];
  let last = -Infinity;
  for (const event of events) {
    const part = partAt(view, event.time_us);
    if (part < 0 || part > 1) continue;
    if (part - last < apart) groups.at(-1)!.push(event);
    else {
      groups.push([event]);
      last = part;
    }
  }
  return groups.map((group) => {
    const main = mainOf(group);
    return { events: group, main, part: partAt(view, main.time_us) };
  });
}

/** How long a crowd lasts: a long one is worth zooming into, a short one is a moment of its own. */
export function crowdLengthUs(crowd: Crowd): number {
  return crowd.events.at(-1)!.time_us - crowd.events[0]!.time_us;
}
