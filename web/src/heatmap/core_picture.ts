// Shares to pixels: one pixel a core and column. What was not recorded stays transparent, so that the
// hatched ground shows through and never looks like 0.

import type { Quantity } from "../address";
import type { Theme } from "../parts/theme";
import { heatRamp, kindRamp } from "./colours";
import { busyShare, KINDS, leadingKind, NOT_RECORDED } from "./core_grid";
import type { CoreGrid, Kind } from "./core_grid";

export function corePixels(
  grid: CoreGrid,
  quantity: Quantity,
  theme: Theme,
  order: readonly number[],
): Uint32Array<ArrayBuffer> {
  const pixels = new Uint32Array(grid.columns * order.length);
  const paint = quantity === "busy" ? busyPainter(grid, theme) : onePainter(grid.shares[quantity], theme);
  let at = 0;
  for (const row of order) {
    const begin = row * grid.columns;
    for (let column = 0; column < grid.columns; column++) pixels[at++] = paint(begin + column);
  }
  return pixels;
}

type Painter = (index: number) => number;

function onePainter(shares: Uint8Array, theme: Theme): Painter {
  const ramp = heatRamp(theme);
  return (index) => ramp[shares[index]!] ?? 0; // NOT_RECORDED is beyond the ramp
}

function busyPainter(grid: CoreGrid, theme: Theme): Painter {
  const ramps = Object.fromEntries(KINDS.map((kind) => [kind, kindRamp(kind, theme)])) as Record<
    Kind,
    Uint32Array
  >;
  return (index) => {
    const share = busyShare(grid, index);
    return share === NOT_RECORDED ? 0 : ramps[leadingKind(grid, index)][share]!;
  };
}

/** The picture as a canvas of its own, to be drawn scaled. */
export function coreImage(
  grid: CoreGrid,
  quantity: Quantity,
  theme: Theme,
  order: readonly number[],
): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, grid.columns);
  canvas.height = Math.max(1, order.length);
  if (grid.columns * order.length === 0) return canvas;
  const pixels = corePixels(grid, quantity, theme, order);
  const image = new ImageData(new Uint8ClampedArray(pixels.buffer), grid.columns, order.length);
  canvas.getContext("2d")!.putImageData(image, 0, 0);
  return canvas;
}
