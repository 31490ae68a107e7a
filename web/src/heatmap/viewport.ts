// The stretch of time on the screen, and how it moves. All pure.

export interface Viewport {
  readonly beginUs: number;
  readonly endUs: number;
}

const SECOND_US = 1_000_000;
const SHORTEST_US = 10 * SECOND_US;
const BEYOND = 0.3; // how far past the recording one may look, in lengths of the viewport

export function lengthUs(view: Viewport): number {
  return view.endUs - view.beginUs;
}

export function timeAt(view: Viewport, part: number): number {
  return view.beginUs + lengthUs(view) * part;
}

export function partAt(view: Viewport, us: number): number {
  return (us - view.beginUs) / lengthUs(view);
}

/** Inside the recording, give or take; whole microseconds. */
export function clamped(view: Viewport, bounds: Viewport): Viewport {
  const longest = Math.max(lengthUs(bounds) * (1 + BEYOND), SHORTEST_US);
  const length = Math.min(Math.max(lengthUs(view), SHORTEST_US), longest);
  const earliest = bounds.beginUs - length * BEYOND;
  const latest = Math.max(earliest, bounds.endUs + length * BEYOND - length);
  const begin = Math.round(Math.min(Math.max(view.beginUs, earliest), latest));
  return { beginUs: begin, endUs: begin + Math.round(length) };
}

export function panned(view: Viewport, part: number, bounds: Viewport): Viewport {
  const delta = lengthUs(view) * part;
  return clamped({ beginUs: view.beginUs + delta, endUs: view.endUs + delta }, bounds);
}

/** Zooms so that the moment at `part` stays where it is; a factor below 1 zooms in. */
export function zoomed(view: Viewport, factor: number, part: number, bounds: Viewport): Viewport {
  const length = Math.max(lengthUs(view) * factor, SHORTEST_US);
  const begin = timeAt(view, part) - length * part;
  return clamped({ beginUs: begin, endUs: begin + length }, bounds);
}

const STEP_SECONDS = [
  1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 300, 600, 900, 1200, 1800, 3600, 7200, 14400, 43200,
];

/** The least step, in whole seconds, that needs no more columns than there are pixels. */
export function stepFor(view: Viewport, pixels: number): number {
  const least = lengthUs(view) / SECOND_US / Math.max(1, pixels);
  return (STEP_SECONDS.find((step) => step >= least) ?? Math.ceil(least / 86400) * 86400) * SECOND_US;
}

export interface AlignedRange {
  readonly begin_us: number;
  readonly end_us: number;
  readonly columns: number;
}

/** The columns that cover the viewport, with `margin` lengths of it on both sides, at multiples of the step. */
export function alignedRange(view: Viewport, stepUs: number, margin: number, bounds: Viewport): AlignedRange {
  const more = lengthUs(view) * margin;
  const begin = Math.max(view.beginUs - more, Math.min(bounds.beginUs, view.beginUs));
  const end = Math.min(view.endUs + more, Math.max(bounds.endUs, view.endUs));
  const begin_us = Math.max(0, Math.floor(begin / stepUs) * stepUs);
  const end_us = Math.max(begin_us + stepUs, Math.ceil(end / stepUs) * stepUs);
  return { begin_us, end_us, columns: (end_us - begin_us) / stepUs };
}

/** What of the viewport can hold data; the server need not look elsewhere. */
export function recordedPart(view: Viewport, bounds: Viewport): Viewport | null {
  const beginUs = Math.max(view.beginUs, bounds.beginUs);
  const endUs = Math.min(view.endUs, bounds.endUs);
  return beginUs < endUs ? { beginUs, endUs } : null;
}
