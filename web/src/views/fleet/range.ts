// Which time of a fleet is shown: whole hours, the last seven days where nothing else is said.

import type { Fleet } from "../../api/types";
import { DAY_US, HOUR_US } from "../../parts/time_text";

export const LONGEST_US = 35 * DAY_US; // the server does not answer about more
const DEFAULT_US = 7 * DAY_US;

export type Bounds = Pick<Fleet, "begin_us" | "end_us">;

export function lastPart(bounds: Bounds, lengthUs: number): [number, number] {
  const end = Math.ceil(bounds.end_us / HOUR_US) * HOUR_US;
  const first = Math.floor(bounds.begin_us / HOUR_US) * HOUR_US;
  return [Math.min(Math.max(first, end - Math.min(lengthUs, LONGEST_US)), end - HOUR_US), end];
}

/** The range of an address, or the default. */
export function rangeOf(bounds: Bounds, begin: number, end: number): [number, number] {
  if (begin === 0 || begin >= end) return lastPart(bounds, DEFAULT_US);
  return [Math.max(begin, end - LONGEST_US), end];
}
