// The wheel over the scope zooms the range at the pointer, and moves it with shift or sideways.

import type { Span } from "../../heatmap/scope_grid";
import type { Page } from "../../page";
import { shownRange } from "./questions";
import { lengthOf, moved, zoomed } from "./spans";

const PAUSE_MS = 140; // the old picture moves at once, the server is asked when the wheel rests
const ZOOM_A_PIXEL = 1.002;

export function rangeWheel(target: HTMLElement, page: Page, draw: (range: Span) => void): void {
  let range: Span | null = null;
  let timer = 0;

  function turn(event: WheelEvent): void {
    event.preventDefault();
    const from = range ?? shownRange(page.address);
    const box = target.getBoundingClientRect();
    range = afterWheel(from, event, (event.clientX - box.left) / box.width);
    draw(range);
    clearTimeout(timer);
    timer = window.setTimeout(rest, PAUSE_MS);
  }

  function rest(): void {
    if (!range) return;
    const [begin, end] = range;
    range = null;
    page.go({ begin, end }, "replace");
  }

  target.addEventListener("wheel", turn, { passive: false, signal: page.signal });
  page.signal.addEventListener("abort", () => clearTimeout(timer));
}

interface Turned {
  readonly deltaX: number;
  readonly deltaY: number;
  readonly shiftKey: boolean;
}

export function afterWheel(range: Span, { deltaX, deltaY, shiftKey }: Turned, across: number): Span {
  const isSideways = shiftKey || Math.abs(deltaX) > Math.abs(deltaY);
  if (!isSideways) return zoomed(range, ZOOM_A_PIXEL ** deltaY, range[0] + across * lengthOf(range));
  const seconds = Math.round((((deltaX || deltaY) / 600) * lengthOf(range)) / 1_000_000);
  return moved(range, seconds * 1_000_000);
}
