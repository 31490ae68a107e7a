// How selections and the shown range move: plain arithmetic on microseconds.

import { SECOND_US, type Span } from "../../heatmap/scope_grid";

export const SHORTEST_RANGE_US = 10 * SECOND_US;
export const LONGEST_RANGE_US = 2 * 3600 * SECOND_US;
export const BEFORE_EVENT_US = 5 * SECOND_US;

export function lengthOf(span: Span): number {
  return span[1] - span[0];
}

export function moved(span: Span, byUs: number): Span {
  return [span[0] + byUs, span[1] + byUs];
}

/** Longer at both ends by a tenth, at least by a row; a negative direction makes it shorter, to one row. */
export function widened(span: Span, direction: 1 | -1, rowUs: number): Span {
  const step = Math.max(rowUs, Math.round(lengthOf(span) / 10 / rowUs) * rowUs);
  if (direction > 0) return [span[0] - step, span[1] + step];
  if (lengthOf(span) - 2 * step >= rowUs) return [span[0] + step, span[1] - step];
  return [span[0], span[0] + rowUs];
}

/** The range moved as little as possible so that the span is in it. */
export function rangeHolding(range: Span, span: Span): Span {
  if (lengthOf(span) > lengthOf(range)) return fitting(span);
  if (span[0] < range[0]) return moved(range, Math.floor((span[0] - range[0]) / SECOND_US) * SECOND_US);
  if (span[1] > range[1]) return moved(range, Math.ceil((span[1] - range[1]) / SECOND_US) * SECOND_US);
  return range;
}

/** A range of another length around the same point, in whole seconds, 10 s to 2 h. */
export function zoomed(range: Span, factor: number, aroundUs: number): Span {
  const length = Math.min(Math.max(lengthOf(range) * factor, SHORTEST_RANGE_US), LONGEST_RANGE_US);
  const seconds = Math.round(length / SECOND_US) * SECOND_US;
  const share = lengthOf(range) > 0 ? (aroundUs - range[0]) / lengthOf(range) : 0.5;
  const beginUs = Math.round((aroundUs - share * seconds) / SECOND_US) * SECOND_US;
  return [beginUs, beginUs + seconds];
}

export function beforeEvent(timeUs: number): Span {
  return [timeUs - BEFORE_EVENT_US, timeUs];
}

/** The minute that holds a moment, mostly of what came before it. */
export function minuteAround(timeUs: number): Span {
  const beginUs = Math.floor((timeUs - 45 * SECOND_US) / SECOND_US) * SECOND_US;
  return [beginUs, beginUs + 60 * SECOND_US];
}

/** A range the server takes: whole seconds, neither too short nor too long; the end is kept. */
export function fitting(range: Span): Span {
  const [beginUs, endUs] = wholeSeconds(range);
  const length = Math.min(Math.max(endUs - beginUs, SHORTEST_RANGE_US), LONGEST_RANGE_US);
  return [endUs - length, endUs];
}

function wholeSeconds(range: Span): Span {
  return [Math.floor(range[0] / SECOND_US) * SECOND_US, Math.ceil(range[1] / SECOND_US) * SECOND_US];
}
