// From event to event: what the address becomes when one is chosen.

import type { Address } from "../../address";
import type { RecordedEvent } from "../../api/types";
import { shownRange } from "./questions";
import { beforeEvent, minuteAround, rangeHolding } from "./spans";

/** The seconds before the event on its core, against quiet ones. */
export function addressOfEvent(address: Address, event: RecordedEvent): Partial<Address> {
  const range = shownRange(address);
  const isFar = event.time_us < range[0] || event.time_us >= range[1];
  const [a0, a1] = beforeEvent(event.time_us);
  const [begin, end] = rangeHolding(isFar ? minuteAround(event.time_us) : range, [a0, a1]);
  const cpus = event.core === null ? [] : [event.core];
  return { event: event.id, a: [a0, a1], b: address.b ?? "quiet", begin, end, cpus, zoom: "", mark: "" };
}

/** The nearest event before or after the chosen one, or after A, or in the range. */
export function stepFrom(
  address: Address,
  events: readonly RecordedEvent[],
  direction: 1 | -1,
): RecordedEvent | undefined {
  const index = events.findIndex((event) => event.id === address.event);
  if (index >= 0) return events[index + direction];
  const range = shownRange(address);
  const fromUs = address.a?.[1] ?? (direction > 0 ? range[0] - 1 : range[1]);
  if (direction > 0) return events.find((event) => event.time_us > fromUs);
  return events.filter((event) => event.time_us < fromUs).at(-1);
}
