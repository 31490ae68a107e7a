// Draws the boxes of the rows that can be seen on a canvas.

import type { Box, Boxes } from "./boxes";
import { DUST, TEXT_COLOUR } from "./colours";
import { TextFit } from "./text_fit";
import { nameOf, type Tree } from "./tree";

export const ROW_PIXELS = 18;
const TEXT_MARGIN = 4;
const NARROWEST_TEXT = 26; // pixels of a box with a text

export interface Picture {
  readonly tree: Tree;
  readonly boxes: Boxes;
  readonly colour: (node: number) => string;
  readonly lit: Uint8Array | null; // null: nothing stands out, so nothing is dimmed
  readonly focus: number; // -1: none
  readonly icicle: boolean;
}

export interface Frame {
  readonly width: number;
  readonly height: number;
  readonly ratio: number; // device pixels a pixel
  readonly scrolled: number;
}

export interface Theme {
  readonly ground: string;
  readonly dim: string; // boxes that do not stand out
  readonly quietText: string;
  readonly focus: string;
  readonly font: string;
}

export class Painter {
  private fits = new Map<string, TextFit>();

  constructor(private readonly context: CanvasRenderingContext2D) {}

  paint(picture: Picture, frame: Frame, theme: Theme): void {
    const { context } = this;
    context.setTransform(frame.ratio, 0, 0, frame.ratio, 0, 0);
    context.fillStyle = theme.ground;
    context.fillRect(0, 0, frame.width, frame.height);
    for (const [depth, y] of shownRows(picture, frame)) this.paintRow(picture, depth, y, theme);
  }

  private paintRow(picture: Picture, depth: number, y: number, theme: Theme): void {
    const { context } = this;
    const row = picture.boxes.rows[depth] ?? [];
    context.fillStyle = picture.lit ? theme.dim : DUST;
    for (const dust of picture.boxes.dust[depth] ?? [])
      context.fillRect(dust.x, y, dust.width, ROW_PIXELS - 1);
    this.paintFills(picture, row, y, theme);
    this.paintNames(picture, row, y, theme);
    const focused = row.find((box) => box.node === picture.focus);
    if (focused) this.paintFocus(focused, y, theme);
  }

  private paintFills(picture: Picture, row: readonly Box[], y: number, theme: Theme): void {
    const { context } = this;
    for (const { node, x, width } of row) {
      context.fillStyle = isDim(picture, node) ? theme.dim : picture.colour(node);
      context.fillRect(x, y, width > 3 ? width - 1 : width, ROW_PIXELS - 1);
      if (picture.lit?.[node]) {
        context.fillStyle = TEXT_COLOUR; // a bar below: it is not the colour alone that tells
        context.fillRect(x, y + ROW_PIXELS - 3, Math.max(width - 1, 1), 2);
      }
    }
  }

  private paintNames(picture: Picture, row: readonly Box[], y: number, theme: Theme): void {
    const { context } = this;
    const fit = this.fitFor(theme.font);
    context.textBaseline = "middle";
    for (const { node, x, width } of row) {
      if (width < NARROWEST_TEXT) continue;
      const name = fit.fit(nameOf(picture.tree, node), width - 2 * TEXT_MARGIN);
      if (!name) continue;
      context.fillStyle = isDim(picture, node) ? theme.quietText : TEXT_COLOUR;
      context.fillText(name, x + TEXT_MARGIN, y + ROW_PIXELS / 2);
    }
  }

  private paintFocus(box: Box, y: number, theme: Theme): void {
    const { context } = this;
    const [x, width] = [box.x + 1, Math.max(box.width - 3, 2)];
    context.lineWidth = 4; // a ring in two colours is seen on every box
    context.strokeStyle = theme.ground;
    context.strokeRect(x, y + 1, width, ROW_PIXELS - 3);
    context.lineWidth = 2;
    context.strokeStyle = theme.focus;
    context.strokeRect(x, y + 1, width, ROW_PIXELS - 3);
  }

  private fitFor(font: string): TextFit {
    this.context.font = font;
    let fit = this.fits.get(font);
    if (!fit) {
      fit = new TextFit((text) => this.context.measureText(text).width);
      this.fits.set(font, fit);
    }
    return fit;
  }
}

function isDim(picture: Picture, node: number): boolean {
  return picture.lit !== null && !picture.lit[node];
}

/** Depths that are in sight, each with its upper edge on the canvas. */
function* shownRows(picture: Picture, frame: Frame): Generator<[number, number]> {
  const rows = picture.boxes.rows.length;
  const first = Math.max(Math.floor(frame.scrolled / ROW_PIXELS), 0);
  const last = Math.min(Math.ceil((frame.scrolled + frame.height) / ROW_PIXELS), rows);
  for (let line = first; line < last; line++) {
    yield [depthOfLine(line, rows, picture.icicle), line * ROW_PIXELS - frame.scrolled];
  }
}

/** Lines count from the top; the root is the first of an icicle and the last of a flame graph. */
export function depthOfLine(line: number, rows: number, icicle: boolean): number {
  return icicle ? line : rows - 1 - line;
}
