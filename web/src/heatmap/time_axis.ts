// A time axis: where the ticks stand and what they say.

import { element } from "../parts/element";

const SECOND = 1_000_000;
const STEPS_US = [
  ...[1, 2, 5, 10, 15, 30].map((s) => s * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((m) => m * 60 * SECOND),
  ...[1, 2, 3, 6, 12].map((h) => h * 3600 * SECOND),
  ...[1, 2, 7, 14, 30, 90, 365].map((d) => d * 86_400 * SECOND),
];
const LABEL_PIXELS = 84;

export interface Tick {
  us: number;
  text: string;
}

/** The least nice step that gives labels enough room. */
export function tickStep(lengthUs: number, pixels: number): number {
  const most = Math.max(1, Math.floor(pixels / LABEL_PIXELS));
  return STEPS_US.find((step) => lengthUs / step <= most) ?? STEPS_US.at(-1)!;
}

/** Ticks at whole steps of UTC; the first of a day and the very first say the date too. */
export function ticks(beginUs: number, endUs: number, pixels: number): Tick[] {
  const step = tickStep(endUs - beginUs, pixels);
  const made: Tick[] = [];
  let day = "";
  for (let us = Math.ceil(beginUs / step) * step; us < endUs; us += step) {
    const iso = new Date(us / 1000).toISOString();
    const clock = step < 60 * SECOND ? iso.slice(11, 19) : iso.slice(11, 16);
    const isNewDay = iso.slice(0, 10) !== day;
    day = iso.slice(0, 10);
    made.push({ us, text: isNewDay ? `${day.slice(5)} ${clock}` : clock });
  }
  return made;
}

export interface TimeAxis {
  readonly element: HTMLElement;
  show(beginUs: number, endUs: number, pixels: number): void;
}

export function timeAxis(): TimeAxis {
  const place = element("div", { class: "time-axis", "aria-hidden": "true" });
  return {
    element: place,
    show(beginUs, endUs, pixels) {
      const labels = ticks(beginUs, endUs, pixels).map((tick) => {
        const label = element("span", {}, tick.text);
        label.style.left = `${((tick.us - beginUs) / (endUs - beginUs)) * 100}%`;
        return label;
      });
      place.replaceChildren(...labels, element("span", { class: "zone" }, "UTC"));
    },
  };
}
