// What the keys do with selection A in the scope.

import { rowUs, SECOND_US, spanOf, type Grid, type Span } from "../../heatmap/scope_grid";
import { lengthOf, moved, widened } from "./spans";

export interface Pressed {
  readonly key: string;
  readonly shiftKey: boolean;
}

const EARLIER = ["ArrowLeft", "ArrowDown"];
const LATER = ["ArrowRight", "ArrowUp"];
const WIDER = ["+", "="];
const NARROWER = ["-", "_"];

/** The new A; null: none; undefined: the key means nothing here. Arrows step by A's length, with shift by a row. */
export function selectionAfter(pressed: Pressed, a: Span | null, grid: Grid): Span | null | undefined {
  const { key } = pressed;
  if (key === "Escape") return a ? null : undefined;
  const direction = EARLIER.includes(key) ? -1 : LATER.includes(key) ? 1 : 0;
  if (direction) return a ? moved(a, direction * stepUs(pressed, a, grid)) : firstSelection(direction, grid);
  if (!a) return undefined;
  if (WIDER.includes(key)) return widened(a, 1, rowUs(grid));
  if (NARROWER.includes(key)) return widened(a, -1, rowUs(grid));
  return undefined;
}

function stepUs(pressed: Pressed, a: Span, grid: Grid): number {
  return pressed.shiftKey ? rowUs(grid) : lengthOf(a);
}

/** Without a selection, the second at the side that one comes from. */
function firstSelection(direction: 1 | -1, grid: Grid): Span {
  const [beginUs, endUs] = spanOf(grid);
  return direction > 0 ? [beginUs, beginUs + SECOND_US] : [endUs - SECOND_US, endUs];
}
