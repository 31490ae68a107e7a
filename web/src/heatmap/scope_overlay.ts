// What lies over the scope's picture: the outlines of A and B, their handles, and the chosen moment.

import { element, svg } from "../parts/element";
import type { Edge, Side } from "./brush";
import { blocksOf, type Block, type Grid, type Span } from "./scope_grid";

export interface ScopeOverlay {
  frame(grid: Grid): void;
  select(side: Side, spans: readonly Span[], isAdjustable: boolean): void;
  markMoment(timeUs: number | null): void;
}

interface Selected {
  readonly outline: SVGPathElement;
  readonly casing: SVGPathElement; // a line of the ground's colour keeps the outline apart from the heat
  readonly handles: Record<Edge, HTMLElement>;
  spans: readonly Span[];
  isAdjustable: boolean;
}

const OVERLAY = { class: "scope-overlay", preserveAspectRatio: "none", "aria-hidden": "true" };

export function scopeOverlay(target: HTMLElement): ScopeOverlay {
  const drawing = svg("svg", OVERLAY);
  const moment = element("div", { class: "scope-moment", hidden: true });
  target.append(drawing, moment);
  const sides = { b: selected("b"), a: selected("a") };
  let grid: Grid | null = null;
  let momentUs: number | null = null;

  function selected(side: Side): Selected {
    const casing = svg("path", { class: "scope-casing" });
    const outline = svg("path", { class: `scope-outline scope-${side}` });
    drawing.append(casing, outline);
    const handles = { begin: handle(side, "begin"), end: handle(side, "end") };
    target.append(handles.begin, handles.end);
    return { outline, casing, handles, spans: [], isAdjustable: false };
  }

  function draw(): void {
    if (!grid) return;
    drawing.setAttribute("viewBox", `0 0 ${grid.columns} ${grid.rows}`);
    for (const side of Object.values(sides)) drawSide(side, grid);
    const isShown = momentUs !== null && isInside(grid, momentUs);
    moment.hidden = !isShown;
    if (momentUs !== null && isShown) put(moment, grid, momentUs);
  }

  return {
    frame(next) {
      grid = next;
      draw();
    },
    select(side, spans, isAdjustable) {
      sides[side].spans = spans;
      sides[side].isAdjustable = isAdjustable;
      draw();
    },
    markMoment(timeUs) {
      momentUs = timeUs;
      draw();
    },
  };
}

function handle(side: Side, edge: Edge): HTMLElement {
  return element("div", {
    class: `scope-handle scope-${side}`,
    "data-side": side,
    "data-edge": edge,
    hidden: true,
    "aria-hidden": "true",
  });
}

function drawSide(side: Selected, grid: Grid): void {
  const path = side.spans.map((span) => pathAround(blocksOf(grid, span))).join("");
  side.outline.setAttribute("d", path);
  side.casing.setAttribute("d", path);
  const [only] = side.spans;
  for (const [edge, timeUs] of [
    ["begin", only?.[0]],
    ["end", only?.[1]],
  ] as const) {
    const handle = side.handles[edge];
    handle.hidden = !side.isAdjustable || timeUs === undefined || !isInside(grid, timeUs);
    // The end of a span is the top of its last row, not the bottom of the next second.
    if (timeUs !== undefined && !handle.hidden) put(handle, grid, edge === "end" ? timeUs - 1 : timeUs, edge);
  }
}

/** One outline around all blocks: a staircase, not three boxes. */
export function pathAround(blocks: readonly Block[]): string {
  const [first] = blocks;
  const last = blocks.at(-1);
  if (!first || !last) return "";
  if (blocks.length === 1) return boxPath(first);
  const isTouching = blocks.slice(1).every((block, index) => overlaps(blocks[index] ?? block, block));
  if (!isTouching) return blocks.map(boxPath).join("");
  const upper = blocks.flatMap((block) => [
    [block.x, block.y],
    [block.x + block.width, block.y],
  ]);
  const lower = blocks.flatMap((block) => [
    [block.x, block.y + block.height],
    [block.x + block.width, block.y + block.height],
  ]);
  const points = [...upper, ...lower.reverse()].map((point) => point.join(" "));
  return `M${points.join("L")}Z`;
}

/** Two seconds side by side of which both have some of the same rows. */
function overlaps(one: Block, other: Block): boolean {
  return one.y < other.y + other.height && other.y < one.y + one.height;
}

function boxPath({ x, y, width, height }: Block): string {
  return `M${x} ${y}h${width}v${height}h${-width}Z`;
}

function isInside(grid: Grid, timeUs: number): boolean {
  return timeUs >= grid.beginUs && timeUs <= grid.beginUs + grid.columns * 1_000_000;
}

function put(mark: HTMLElement, grid: Grid, timeUs: number, edge?: Edge): void {
  const seconds = (timeUs - grid.beginUs) / 1_000_000;
  const column = Math.min(Math.floor(seconds), grid.columns - 1);
  const across = edge === "begin" ? column : edge === "end" ? column + 1 : column + 0.5;
  mark.style.left = `${(across / grid.columns) * 100}%`;
  mark.style.bottom = `${Math.min(seconds - column, 1) * 100}%`;
}
