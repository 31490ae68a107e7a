// The map on a canvas. What was not recorded stays hatched, and so do the quiet hours of hosts of which
// nothing is known: nobody can tell what they are a group of.

import type { Heat } from "../../address";
import { heatRamp, LEVELS } from "../../heatmap/colours";
import { hatching } from "../../heatmap/hatching";
import { theme, token } from "../../parts/theme";
import { strongest, valueAt } from "./map_grid";
import type { Cell, MapGrid } from "./map_grid";

const LEAST_LEVEL = 22; // of what is not zero

/** 0 to 100; -1: not recorded. */
export function levelOf(value: number, most: number): number {
  if (Number.isNaN(value)) return -1;
  if (value <= 0 || most <= 0) return value > 0 ? LEVELS - 1 : 0;
  const part = Math.min(1, Math.sqrt(value / most));
  return Math.round(LEAST_LEVEL + (LEVELS - 1 - LEAST_LEVEL) * part);
}

/** One pixel a cell; 0 is transparent. */
export function mapPixels(grid: MapGrid, heat: Heat, ramp: Uint32Array): Uint32Array<ArrayBuffer> {
  const pixels = new Uint32Array(grid.episodes.length);
  const most = strongest(grid, heat);
  for (let index = 0; index < pixels.length; index++) {
    const level = levelOf(valueAt(grid, heat, index), most);
    const isUnknown = grid.groups[Math.floor(index / grid.columns)]!.is_unknown;
    if (level > 0 || (level === 0 && !isUnknown)) pixels[index] = ramp[level]!;
  }
  return pixels;
}

export function mapImage(grid: MapGrid, heat: Heat): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, grid.columns);
  canvas.height = Math.max(1, grid.groups.length);
  if (grid.episodes.length === 0) return canvas;
  const pixels = mapPixels(grid, heat, heatRamp(theme()));
  const image = new ImageData(new Uint8ClampedArray(pixels.buffer), grid.columns, grid.groups.length);
  canvas.getContext("2d")!.putImageData(image, 0, 0);
  return canvas;
}

export interface Marked {
  readonly row: number; // chosen; -1: none
  readonly column: number; // -1: the whole row
  readonly cursor: Cell | null; // of the keyboard
}

export function drawMap(
  canvas: HTMLCanvasElement,
  grid: MapGrid,
  image: HTMLCanvasElement,
  marked: Marked,
): void {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  const context = canvas.getContext("2d")!;
  context.fillStyle = hatching(context);
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.imageSmoothingEnabled = false;
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  const high = canvas.height / Math.max(1, grid.groups.length);
  const wide = canvas.width / Math.max(1, grid.columns);
  context.fillStyle = token("--ground");
  for (let row = 1; row < grid.groups.length; row++) {
    context.fillRect(0, Math.round(row * high) - ratio, canvas.width, 2 * ratio);
  }
  if (marked.row >= 0) {
    const [left, length] = marked.column < 0 ? [0, canvas.width] : [marked.column * wide, wide];
    outline(context, [left, marked.row * high, length, high], 2 * ratio, token("--a"));
  }
  if (marked.cursor) {
    const { row, column } = marked.cursor;
    outline(context, [column * wide, row * high, wide, high], 2 * ratio, token("--focus"));
  }
}

function outline(
  context: CanvasRenderingContext2D,
  [left, top, wide, high]: [number, number, number, number],
  line: number,
  colour: string,
): void {
  context.lineWidth = line;
  context.strokeStyle = colour;
  const half = line / 2;
  const width = Math.max(wide, 6 * half); // a narrow column is still seen
  context.strokeRect(left - (width - wide) / 2 + half, top + half, width - line, high - line);
}
