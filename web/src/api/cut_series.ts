// Events and zombies of a part of the range, cut from what a one-file page holds.

import type { EventsQuestion, RangeQuestion } from "./questions";
import type { Events, Zombies } from "./types";

export function cutEvents(all: Events, question: EventsQuestion): Events {
  const kinds = question.kind ?? [];
  const events = all.events.filter(
    ({ time_us, kind }) =>
      time_us >= question.begin_us &&
      time_us < question.end_us &&
      (kinds.length === 0 || kinds.includes(kind)),
  );
  if (events.length === all.events.length) return all;
  const counted: { [kind: string]: number } = {};
  for (const { kind } of events) counted[kind] = (counted[kind] ?? 0) + 1;
  // How many of those that were left out belong here, the file does not know.
  return { ...all, events, kinds: counted };
}

/** One point more on both sides, so that a line reaches the edges. */
export function cutZombies(all: Zombies, { begin_us, end_us }: RangeQuestion): Zombies {
  const inside = all.times_us.map((time, index) => (time >= begin_us && time < end_us ? index : -1));
  const found = inside.filter((index) => index >= 0);
  if (found.length === all.times_us.length) return all;
  const first = Math.max(0, (found[0] ?? 0) - 1);
  const last = found.length > 0 ? found[found.length - 1]! + 2 : 0;
  return {
    ...all,
    times_us: all.times_us.slice(first, last),
    tracked: all.tracked.slice(first, last),
    in_use: all.in_use.slice(first, last),
    zombies: all.zombies.slice(first, last),
    forecast: null,
    why_none: "this file has the forecast of its whole range only",
  };
}
