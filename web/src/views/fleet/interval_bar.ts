// A number with its interval, drawn: a line from low to high, a dot where it is most likely. The numbers stand
// beside it as text, so that readers lose nothing.

import { element } from "../../parts/element";
import { partOn } from "./scale";
import type { Ranged, Scale } from "./scale";

function at(part: number): string {
  return `${(part * 100).toFixed(2)}%`;
}

/** `middle`: where nothing makes a difference, as 1 among ratios. `tone` is a class. */
export function intervalBar(scale: Scale, row: Ranged, tone = "", middle: number | null = null): HTMLElement {
  const bar = element("div", { class: `interval ${tone}`, "aria-hidden": "true" });
  if (middle !== null) bar.append(upright("interval-middle", partOn(scale, middle)));
  const low = row.low === null ? 0 : partOn(scale, row.low);
  const high = row.high === null ? 1 : partOn(scale, row.high);
  const isCutLow = row.low === null || row.low < scale.low;
  const isCutHigh = row.high === null || row.high > scale.high;
  const cuts = `${isCutLow ? " cut-low" : ""}${isCutHigh ? " cut-high" : ""}`;
  const line = element("span", { class: `interval-line${cuts}` });
  line.style.left = at(low);
  line.style.width = at(Math.max(0, high - low));
  bar.append(line);
  if (row.value !== null) bar.append(upright("interval-dot", partOn(scale, row.value)));
  return bar;
}

function upright(name: string, part: number): HTMLElement {
  const made = element("span", { class: name });
  made.style.left = at(part);
  return made;
}

/** The axis over a column of bars. */
export function scaleAxis(scale: Scale): HTMLElement {
  const ticks = scale.ticks.map(([value, text]) => {
    const tick = element("span", {}, text);
    tick.style.left = at(partOn(scale, value));
    return tick;
  });
  return element("div", { class: "interval-axis", "aria-hidden": "true" }, ...ticks);
}
