// The core heatmap: a row a core, drawn from the last picture at once and anew when data comes.

import type { Quantity } from "../address";
import { element } from "../parts/element";
import { theme, token } from "../parts/theme";
import { hatching } from "./hatching";
import { endUs, indexAt, KINDS, NOT_RECORDED, rowOrder } from "./core_grid";
import type { CoreGrid } from "./core_grid";
import { coreImage } from "./core_picture";
import { partAt, timeAt } from "./viewport";
import type { Viewport } from "./viewport";

const LEAST_ROW_PIXELS = 2;
const LABEL_PIXELS = 14;

export interface Cell {
  core: number;
  beginUs: number;
  endUs: number;
  text: string;
}

export interface CoreHeatmap {
  readonly labels: HTMLElement;
  readonly scroller: HTMLElement; // holds the canvas; scrolls where there are more cores than pixels
  readonly canvas: HTMLCanvasElement;
  readonly grid: CoreGrid | null;
  show(grid: CoreGrid): void;
  arrange(quantity: Quantity, worstFirst: boolean): void;
  draw(view: Viewport, brush?: [number, number] | null): void;
  cellAt(event: MouseEvent): Cell | null;
}

export function coreHeatmap(): CoreHeatmap {
  const canvas = element("canvas", { tabindex: 0, role: "application" });
  const scroller = element("div", { class: "heatmap" }, canvas);
  const labels = element("div", { class: "core-labels", "aria-hidden": "true" });
  let grid: CoreGrid | null = null;
  let image: HTMLCanvasElement | null = null;
  let order: number[] = [];
  let quantity: Quantity = "busy";
  let worstFirst = false;
  let view: Viewport = { beginUs: 0, endUs: 1 };

  function paint(): void {
    if (!grid) return;
    order = rowOrder(grid, quantity, worstFirst, view.beginUs, view.endUs);
    image = coreImage(grid, quantity, theme(), order);
    labelRows();
  }

  function rowPixels(): number {
    return Math.max(LEAST_ROW_PIXELS, scroller.clientHeight / Math.max(1, order.length));
  }

  function labelRows(): void {
    const pixels = rowPixels();
    const every = Math.ceil(LABEL_PIXELS / pixels);
    const shown = order
      .map((row, place) => ({ core: grid?.cores[row], place }))
      .filter(({ place }) => place % every === 0);
    labels.replaceChildren(
      ...shown.map(({ core, place }) => {
        const label = element("span", {}, String(core));
        label.style.top = `${place * pixels - scroller.scrollTop + Math.max(6, Math.min(pixels, LABEL_PIXELS) / 2)}px`;
        return label;
      }),
    );
  }
  scroller.addEventListener("scroll", labelRows, { passive: true });

  function fit(): CanvasRenderingContext2D {
    const ratio = devicePixelRatio || 1;
    const height = Math.max(scroller.clientHeight, Math.floor(order.length * LEAST_ROW_PIXELS));
    canvas.style.height = `${height}px`;
    const [wide, high] = [Math.round(canvas.clientWidth * ratio), Math.round(height * ratio)];
    if (canvas.width !== wide) canvas.width = wide;
    if (canvas.height !== high) canvas.height = high;
    return canvas.getContext("2d")!;
  }

  function draw(now: Viewport, brush: [number, number] | null = null): void {
    view = now;
    const context = fit();
    context.fillStyle = hatching(context);
    context.fillRect(0, 0, canvas.width, canvas.height);
    if (!grid || !image) return;
    context.imageSmoothingEnabled = false;
    const left = partAt(view, grid.beginUs) * canvas.width;
    const right = partAt(view, endUs(grid)) * canvas.width;
    context.drawImage(image, left, 0, right - left, canvas.height);
    if (brush) drawBrush(context, brush);
  }

  function drawBrush(context: CanvasRenderingContext2D, [from, to]: [number, number]): void {
    const [left, right] = [Math.min(from, to) * canvas.width, Math.max(from, to) * canvas.width];
    context.fillStyle = token("--text");
    context.globalAlpha = 0.25;
    context.fillRect(left, 0, right - left, canvas.height);
    context.globalAlpha = 1;
    context.fillRect(left, 0, 2, canvas.height);
    context.fillRect(right - 2, 0, 2, canvas.height);
  }

  function cellAt(event: MouseEvent): Cell | null {
    if (!grid) return null;
    const box = canvas.getBoundingClientRect();
    const us = timeAt(view, (event.clientX - box.left) / box.width);
    const row = order[Math.floor(((event.clientY - box.top) / box.height) * order.length)];
    if (row === undefined) return null;
    const index = indexAt(grid, row, us);
    const beginUs = grid.beginUs + Math.floor((us - grid.beginUs) / grid.stepUs) * grid.stepUs;
    return { core: grid.cores[row]!, beginUs, endUs: beginUs + grid.stepUs, text: sharesText(grid, index) };
  }

  return {
    labels,
    scroller,
    canvas,
    get grid() {
      return grid;
    },
    show(now) {
      grid = now;
      paint();
    },
    arrange(wanted, worst) {
      [quantity, worstFirst] = [wanted, worst];
      paint();
    },
    draw,
    cellAt,
  };
}

export function sharesText(grid: CoreGrid, index: number): string {
  if (index < 0 || grid.shares.user[index] === NOT_RECORDED) return "not recorded";
  return KINDS.map((kind) => `${kind} ${grid.shares[kind][index]} %`).join("\n");
}
