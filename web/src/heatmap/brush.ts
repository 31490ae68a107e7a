// Selecting time in the scope with a pointer. Drag: A; with Ctrl, Meta or Alt: B; a click: that second.

import { cellAt, secondOfCell, spanBetween, type Cell, type Grid, type Span } from "./scope_grid";

export type Side = "a" | "b";
export type Edge = "begin" | "end";

export interface BrushOptions {
  grid(): Grid;
  side(): Side; // which one a drag without a key selects
  selected(side: Side): Span | null;
  onSelect(side: Side, span: Span, isDone: boolean): void;
  onCancel(): void;
  onHover(cell: Cell | null, event: PointerEvent): void;
}

interface Drag {
  readonly pointer: number;
  readonly side: Side;
  readonly from: Cell;
  readonly fixed: Span | null; // the cell at the other edge, where one edge is moved
  span: Span;
  hasMoved: boolean;
}

const CLICK_PIXELS = 4;

/** Listens on `target`, whose box is the picture; elements with data-edge and data-side are handles. */
export function brush(target: HTMLElement, options: BrushOptions, signal: AbortSignal): void {
  let drag: Drag | null = null;
  let downX = 0;
  let downY = 0;

  function cellUnder(event: PointerEvent): Cell {
    const box = target.getBoundingClientRect();
    return cellAt(
      options.grid(),
      (event.clientX - box.left) / box.width,
      (event.clientY - box.top) / box.height,
    );
  }

  function start(event: PointerEvent): void {
    if (event.button !== 0 || drag) return;
    const from = cellUnder(event);
    const handle = handleOf(event.target);
    const side = handle?.side ?? sideOf(event, options.side());
    const grid = options.grid();
    const selected = handle && options.selected(side);
    const fixed = handle && oppositeEdge(grid, selected, handle.edge);
    const span = selected ?? secondOfCell(grid, from);
    drag = { pointer: event.pointerId, side, from, fixed, span, hasMoved: false };
    [downX, downY] = [event.clientX, event.clientY];
    target.setPointerCapture(event.pointerId);
  }

  function move(event: PointerEvent): void {
    const cell = cellUnder(event);
    options.onHover(cell, event);
    if (!drag || event.pointerId !== drag.pointer) return;
    const distance = Math.abs(event.clientX - downX) + Math.abs(event.clientY - downY);
    drag.hasMoved ||= distance > CLICK_PIXELS;
    if (!drag.hasMoved) return;
    drag.span = draggedSpan(options.grid(), drag.from, cell, drag.fixed);
    options.onSelect(drag.side, drag.span, false);
  }

  function end(event: PointerEvent): void {
    if (!drag || event.pointerId !== drag.pointer) return;
    const { side, span } = drag;
    drag = null;
    options.onSelect(side, span, true);
  }

  function cancel(): void {
    if (!drag) return;
    drag = null;
    options.onCancel();
  }

  target.addEventListener("pointerdown", start, { signal });
  target.addEventListener("pointermove", move, { signal });
  target.addEventListener("pointerup", end, { signal });
  target.addEventListener("pointercancel", cancel, { signal });
  target.addEventListener("pointerleave", (event) => options.onHover(null, event), { signal });
  target.addEventListener("keydown", (event) => event.key === "Escape" && cancel(), { signal });
}

/** From the cell where a drag began, or from the edge that stays, to the pointer. */
export function draggedSpan(grid: Grid, from: Cell, to: Cell, fixed: Span | null): Span {
  const moving = spanBetween(grid, fixed ? to : from, to);
  if (!fixed) return moving;
  return [Math.min(fixed[0], moving[0]), Math.max(fixed[1], moving[1])];
}

/** The row at the edge that stays when the other one is moved. */
export function oppositeEdge(grid: Grid, span: Span | null, edge: Edge): Span | null {
  if (!span) return null;
  const row = Math.min(1_000_000 / grid.rows, span[1] - span[0]);
  return edge === "begin" ? [span[1] - row, span[1]] : [span[0], span[0] + row];
}

export function sideOf(keys: { ctrlKey: boolean; metaKey: boolean; altKey: boolean }, usual: Side): Side {
  return keys.ctrlKey || keys.metaKey || keys.altKey ? "b" : usual;
}

function handleOf(target: EventTarget | null): { side: Side; edge: Edge } | null {
  if (!(target instanceof HTMLElement)) return null;
  const { side, edge } = target.dataset;
  if ((side !== "a" && side !== "b") || (edge !== "begin" && edge !== "end")) return null;
  return { side, edge };
}
