// What the live view keeps: the events and counts of the last minutes.

import type { RecordedEvent, Zombies } from "../../api/types";

/** Events may come again with more in them: the newest telling of each counts. */
export function recentEvents(
  before: RecordedEvent[],
  added: RecordedEvent[],
  sinceUs: number,
): RecordedEvent[] {
  const byId = new Map([...before, ...added].map((event) => [event.id, event]));
  return [...byId.values()]
    .filter((event) => event.time_us >= sinceUs)
    .sort((one, other) => one.time_us - other.time_us);
}

export function recentZombies(
  before: Zombies | null,
  added: Zombies | null,
  sinceUs: number,
): Zombies | null {
  if (!added) return before;
  const lastKnown = before?.times_us.at(-1) ?? -1;
  const isNew = (us: number): boolean => us > lastKnown;
  const keep = (us: number): boolean => us >= sinceUs;
  const pick = (name: "times_us" | "tracked" | "in_use" | "zombies"): (number | null)[] => [
    ...(before ? before[name].filter((_, i) => keep(before.times_us[i]!)) : []),
    ...added[name].filter((_, i) => isNew(added.times_us[i]!) && keep(added.times_us[i]!)),
  ];
  return {
    ...added,
    times_us: pick("times_us") as number[],
    tracked: pick("tracked"),
    in_use: pick("in_use"),
    zombies: pick("zombies"),
  };
}
