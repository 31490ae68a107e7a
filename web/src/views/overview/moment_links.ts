// Where a click in the overview leads: the seconds to look at, against the quiet ones around them.

import type { Address } from "../../address";
import type { RecordedEvent } from "../../api/types";

const SECOND_US = 1_000_000;
const AROUND_US = 30 * SECOND_US;
const BEFORE_EVENT_US = 5 * SECOND_US;
const LONGEST_SELECTION_US = 120 * SECOND_US;
export const LONGEST_MOMENT_US = 7200 * SECOND_US;

type Change = Partial<Address>;

function wholeSecond(us: number): number {
  return Math.floor(us / SECOND_US) * SECOND_US;
}

/** The minute around an event; A is the 5 s before it, which hold its cause. */
export function momentOfEvent(event: Pick<RecordedEvent, "id" | "time_us" | "core">): Change {
  const middle = wholeSecond(event.time_us);
  return {
    view: "moment",
    begin: middle - AROUND_US,
    end: middle + AROUND_US,
    a: [event.time_us - BEFORE_EVENT_US, event.time_us],
    b: "quiet",
    cpus: event.core === null ? [] : [event.core],
    event: event.id,
  };
}

/** Chosen seconds with some time around them; many are a range to look at, not a selection. */
export function momentOfRange(beginUs: number, endUs: number, core: number | null = null): Change {
  const begin = wholeSecond(beginUs);
  const end = Math.max(begin + SECOND_US, Math.ceil(endUs / SECOND_US) * SECOND_US);
  const isSelection = end - begin <= LONGEST_SELECTION_US;
  const around = isSelection ? AROUND_US : 0;
  return {
    view: "moment",
    begin: begin - around,
    end: end + around,
    a: isSelection ? [begin, end] : null,
    b: isSelection ? "quiet" : null,
    cpus: core === null ? [] : [core],
    event: "",
  };
}
