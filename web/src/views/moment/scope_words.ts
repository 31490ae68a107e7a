// What the scope says: under the pointer, and to those who do not see it.

import type { Address } from "../../address";
import type { RecordedEvent } from "../../api/types";
import { rowUs, spanOfCell, unrecorded, type Cell, type Grid, type Span } from "../../heatmap/scope_grid";
import { shownRange } from "./questions";
import { clockTime, writtenCount, writtenLength, writtenSpan } from "./words";

const MOST_EVENTS = 8;

export const KEYS =
  "Drag selects A, with Ctrl or Alt B. Arrow keys step the selection by its length, with Shift by one row; " +
  "plus and minus change its length; Escape takes the whole range; Page Up and Page Down move the range.";

export function cellText(
  grid: Grid,
  cell: Cell,
  count: { samples: number; matched: number | null },
  recorded: readonly Span[],
): string {
  const [beginUs, endUs] = spanOfCell(grid, cell);
  const time = `${clockTime(beginUs)} to ${clockTime(endUs)} UTC`;
  const isMissing = unrecorded(grid, recorded).some(([from, to]) => from <= beginUs && beginUs < to);
  if (isMissing) return `${time}\nnot recorded`;
  const matched = count.matched === null ? "" : `, ${writtenCount(count.matched)} matching`;
  return `${time}\n${writtenCount(count.samples)} samples${matched}`;
}

export function eventsText(events: readonly RecordedEvent[]): string {
  return events.slice(0, MOST_EVENTS).map(eventText).join("\n");
}

function eventText(event: RecordedEvent): string {
  const core = event.core === null ? "" : `, core ${event.core}`;
  return `${clockTime(event.time_us)} ${event.kind}${core}: ${event.text}`;
}

export function selectionText({ a }: Address): string {
  return a ? `Selection A: ${writtenSpan(a)}` : "Selection A: the whole range";
}

export function pictureText(address: Address, grid: Grid): string {
  const row = writtenLength(rowUs(grid));
  return `Subsecond heatmap of ${writtenSpan(shownRange(address))}; a column is a second, a row ${row}`;
}
