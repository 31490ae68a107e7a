// Links from the diagnosis to the moment that shows it.

import { hashOf, inView } from "../../address";
import type { Address } from "../../address";
import { SECOND_US } from "../../parts/time_text";

const AROUND_US = 30 * SECOND_US;
const BEFORE_US = 5 * SECOND_US; // of an event: what the core did then is what explains it

/** The view of some seconds: they are selection A, against quiet seconds, on the core that felt it. */
export function spanLink(address: Address, beginUs: number, endUs: number, core: number | null): string {
  const moment = inView(address, "moment");
  return hashOf({
    ...moment,
    begin: beginUs - AROUND_US,
    end: endUs + AROUND_US,
    a: [beginUs, Math.max(endUs, beginUs + SECOND_US)],
    b: "quiet",
    cpus: core === null ? [] : [core],
  });
}

export function instantLink(address: Address, timeUs: number, core: number | null): string {
  return spanLink(address, timeUs - BEFORE_US, timeUs, core);
}
