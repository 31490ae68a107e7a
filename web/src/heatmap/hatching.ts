// The ground where nothing was recorded: hatched, so that it never looks like nothing that ran.

import { token } from "../parts/theme";

let hatch: { pattern: CanvasPattern; colour: string } | null = null;

/** Diagonal lines on the ground: nothing was recorded here. */
export function hatching(context: CanvasRenderingContext2D): CanvasPattern | string {
  const colour = token("--line");
  if (hatch?.colour === colour) return hatch.pattern;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const pen = tile.getContext("2d")!;
  pen.fillStyle = token("--ground");
  pen.fillRect(0, 0, 8, 8);
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  for (const x of [-8, 0, 8]) {
    pen.beginPath();
    pen.moveTo(x, 8);
    pen.lineTo(x + 8, 0);
    pen.stroke();
  }
  const pattern = context.createPattern(tile, "repeat");
  if (!pattern) return token("--ground");
  hatch = { pattern, colour };
  return pattern;
}
