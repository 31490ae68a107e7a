// Events on the wall clock under the scope: those too close to be told apart share a mark with their number.

import type { RecordedEvent } from "../api/types";
import { element } from "../parts/element";
import { spanOf, type Grid } from "./scope_grid";

export interface Mark {
  readonly across: number; // 0 to 1
  readonly events: readonly RecordedEvent[];
}

const APART_PIXELS = 14;

export interface ScopeMarkers {
  show(events: readonly RecordedEvent[], grid: Grid, chosen: string): void;
}

export interface MarkersOptions {
  onChoose(event: RecordedEvent): void;
  onHover(mark: Mark | null, pointer: PointerEvent): void;
}

/** For the pointer only; the keyboard steps through events with the buttons of the toolbar. */
export function scopeMarkers(place: HTMLElement, options: MarkersOptions): ScopeMarkers {
  const strip = element("div", { class: "scope-marks", "aria-hidden": "true" });
  place.append(strip);

  function markElement(mark: Mark, chosen: string): HTMLElement {
    const isChosen = mark.events.some((event) => event.id === chosen);
    const many = mark.events.length > 1 ? String(mark.events.length) : "";
    const made = element("div", { class: `scope-mark${isChosen ? " is-chosen" : ""}` }, many);
    made.style.left = `${mark.across * 100}%`;
    made.addEventListener("pointermove", (pointer) => options.onHover(mark, pointer));
    made.addEventListener("pointerleave", (pointer) => options.onHover(null, pointer));
    made.addEventListener("click", () => {
      const next = nextOf(mark.events, chosen);
      if (next) options.onChoose(next);
    });
    return made;
  }

  return {
    show(events, grid, chosen) {
      const marks = marksOf(events, grid, strip.clientWidth || 800);
      strip.replaceChildren(...marks.map((mark) => markElement(mark, chosen)));
    },
  };
}

/** The events of a grid, oldest first, in marks at least 14 pixels apart. */
export function marksOf(events: readonly RecordedEvent[], grid: Grid, widthPixels: number): Mark[] {
  const [beginUs, endUs] = spanOf(grid);
  const marks: { across: number; events: RecordedEvent[] }[] = [];
  for (const event of events) {
    if (event.time_us < beginUs || event.time_us >= endUs) continue;
    const across = (event.time_us - beginUs) / (endUs - beginUs);
    const last = marks.at(-1);
    if (last && (across - last.across) * widthPixels < APART_PIXELS) last.events.push(event);
    else marks.push({ across, events: [event] });
  }
  return marks;
}

/** Clicking a mark of several events goes through them. */
function nextOf(events: readonly RecordedEvent[], chosen: string): RecordedEvent | undefined {
  return events[(events.findIndex((event) => event.id === chosen) + 1) % events.length];
}
