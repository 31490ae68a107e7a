// The subsecond-offset heatmap: a canvas with the counts, and over it what is selected.

import { element } from "../parts/element";
import { onTheme, theme } from "../parts/theme";
import { hatching } from "./hatching";
import { scopeTones } from "./scope_colours";
import { gridOver, spanOf, unrecorded, type Cell, type Grid, type Span } from "./scope_grid";
import { scopeOverlay } from "./scope_overlay";
import { scopePixels, type ScopeCounts } from "./scope_picture";
import type { Side } from "./brush";

export interface ScopeHeatmap {
  readonly target: HTMLElement; // its box is the picture; takes the focus and the pointer
  grid(): Grid; // what is on the screen
  frame(range: Span, rows: number): void;
  show(scope: ScopeCounts): void;
  recorded(spans: readonly Span[]): void; // outside of them the picture is hatched
  countAt(cell: Cell): { samples: number; matched: number | null } | null;
  select(side: Side, spans: readonly Span[], isAdjustable: boolean): void;
  markMoment(timeUs: number | null): void;
}

/** A picture of an older range stays in its place on the wall clock until the new one is there. */
export function scopeHeatmap(place: HTMLElement, signal: AbortSignal): ScopeHeatmap {
  const canvas = element("canvas", { "aria-hidden": "true" });
  const target = element("div", { class: "scope-picture", tabindex: "0", role: "application" }, canvas);
  const overlay = scopeOverlay(target);
  const small = document.createElement("canvas");
  let grid: Grid = { beginUs: 0, columns: 60, rows: 50 };
  let scope: ScopeCounts | null = null;
  let known: readonly Span[] = [];
  place.append(target);

  function paint(): void {
    if (!scope) return;
    const tones = scopeTones(theme());
    const mostColumns = Math.max(target.clientWidth * devicePixelRatio, 1);
    const { width, height, pixels } = scopePixels(scope, mostColumns, tones);
    [small.width, small.height] = [width, height];
    const image = new ImageData(new Uint8ClampedArray(pixels.buffer), width, height);
    small.getContext("2d")?.putImageData(image, 0, 0);
    draw();
  }

  function draw(): void {
    canvas.width = Math.max(Math.round(target.clientWidth * devicePixelRatio), 1);
    canvas.height = Math.max(Math.round(target.clientHeight * devicePixelRatio), 1);
    const context = canvas.getContext("2d");
    if (!scope || !context) return;
    context.imageSmoothingEnabled = false;
    const left = shareAcross(scope.grid.beginUs) * canvas.width;
    const right = shareAcross(spanOf(scope.grid)[1]) * canvas.width;
    context.drawImage(small, left, 0, right - left, canvas.height);
    context.fillStyle = hatching(context);
    for (const span of unrecorded(grid, known)) {
      const from = shareAcross(span[0]) * canvas.width;
      context.fillRect(from, 0, shareAcross(span[1]) * canvas.width - from, canvas.height);
    }
  }

  function shareAcross(timeUs: number): number {
    const [beginUs, endUs] = spanOf(grid);
    return (timeUs - beginUs) / (endUs - beginUs);
  }

  const resized = new ResizeObserver(paint);
  resized.observe(target);
  onTheme(paint, signal);
  signal.addEventListener("abort", () => resized.disconnect());

  return {
    target,
    grid: () => grid,
    frame(range, rows) {
      grid = gridOver(range, rows);
      overlay.frame(grid);
      draw();
    },
    show(next) {
      scope = next;
      paint();
    },
    recorded(spans) {
      known = spans;
      draw();
    },
    countAt: (cell) => scope && countIn(scope, grid, cell),
    select: (side, spans, isAdjustable) => overlay.select(side, spans, isAdjustable),
    markMoment: (timeUs) => overlay.markMoment(timeUs),
  };
}

/** What the picture has at a cell of the screen; null where it does not reach. */
function countIn(
  scope: ScopeCounts,
  grid: Grid,
  cell: Cell,
): { samples: number; matched: number | null } | null {
  const column = cell.column + Math.round((grid.beginUs - scope.grid.beginUs) / 1_000_000);
  if (column < 0 || column >= scope.grid.columns || scope.grid.rows !== grid.rows) return null;
  const index = column * grid.rows + cell.row;
  return { samples: scope.counts[index] ?? 0, matched: scope.matched ? (scope.matched[index] ?? 0) : null };
}
