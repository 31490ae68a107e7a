// From live to the moment: a click takes ten seconds around it, a drag what it covers, Enter the last minute.

import type { CoreHeatmap } from "../../heatmap/core_heatmap";
import { listen } from "../../heatmap/time_gestures";
import { timeAt } from "../../heatmap/viewport";
import type { Viewport } from "../../heatmap/viewport";
import type { Page } from "../../page";
import { rangeText } from "../../parts/time_text";
import { hideTooltip, showTooltip } from "../../parts/tooltip";
import { momentOfRange } from "../overview/moment_links";

const AROUND_US = 5_000_000;
const MINUTE_US = 60_000_000;

export function freeze(heatmap: CoreHeatmap, page: Page, view: () => Viewport): void {
  heatmap.canvas.dataset.mode = "choose";
  heatmap.canvas.setAttribute(
    "aria-label",
    "Time of every core in the last five minutes. Click, drag or Enter opens these seconds in the view Moment.",
  );
  const open = (beginUs: number, endUs: number, core: number | null = null): void =>
    page.go(momentOfRange(beginUs, Math.min(endUs, view().endUs), core));
  listen(
    heatmap.canvas,
    {
      pan: () => {},
      zoom: () => {},
      brush(from, to, isDone) {
        const [low, high] = [Math.min(from, to), Math.max(from, to)];
        heatmap.draw(view(), isDone ? null : [low, high]);
        if (isDone) open(timeAt(view(), low), timeAt(view(), high));
      },
      click(_, event) {
        const cell = heatmap.cellAt(event);
        if (cell) open(cell.beginUs - AROUND_US, cell.endUs + AROUND_US, cell.core);
      },
      hover(event) {
        const cell = event && heatmap.cellAt(event);
        if (!event || !cell) return hideTooltip();
        const text = `core ${cell.core}\n${rangeText(cell.beginUs, cell.endUs)}\n${cell.text}`;
        showTooltip(text, event.clientX, event.clientY);
      },
      enter: () => open(view().endUs - MINUTE_US, view().endUs),
      isBrushing: () => true,
    },
    page.signal,
  );
}
