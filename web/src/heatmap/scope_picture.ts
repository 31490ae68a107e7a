// Turns the counts of the scope into pixels, one a cell, or one for several seconds where there are more of
// them than pixels: the fullest counts, so that no burst is lost.

import type { Grid } from "./scope_grid";

export interface ScopeCounts {
  readonly grid: Grid;
  readonly counts: Uint16Array; // column by column, earliest row first
  readonly matched: Uint16Array | null; // of these, samples that match the search
  readonly most: number;
}

/** Packed colours, for little-endian image data. */
export interface ScopeTones {
  readonly empty: number;
  readonly heat: Uint32Array;
  readonly faded: Uint32Array; // what does not match
  readonly lit: Uint32Array; // what matches
}

export interface ScopePixels {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint32Array<ArrayBuffer>;
}

export function scopePixels(scope: ScopeCounts, mostColumns: number, tones: ScopeTones): ScopePixels {
  const { columns, rows } = scope.grid;
  const width = Math.max(Math.min(columns, Math.floor(mostColumns)), 1);
  const pixels = new Uint32Array(width * rows);
  const counts = fullest(scope.counts, columns, rows, width);
  const matched = scope.matched && fullest(scope.matched, columns, rows, width);
  const mostMatched = matched ? largest(matched) : 0;
  for (let x = 0; x < width; x++) {
    for (let row = 0; row < rows; row++) {
      const cell = x * rows + row;
      const count = counts[cell] ?? 0;
      const hits = matched?.[cell] ?? 0;
      const ramp = hits > 0 ? tones.lit : matched ? tones.faded : tones.heat;
      const level = hits > 0 ? hits / mostMatched : count / scope.most;
      pixels[(rows - 1 - row) * width + x] = count === 0 ? tones.empty : toneOf(ramp, level);
    }
  }
  return { width, height: rows, pixels };
}

export function largest(values: Uint16Array): number {
  let most = 0;
  for (const value of values) if (value > most) most = value;
  return most;
}

function toneOf(ramp: Uint32Array, level: number): number {
  return ramp[Math.min(Math.max(Math.round(level * (ramp.length - 1)), 0), ramp.length - 1)] ?? 0;
}

/** Cells of at most `width` columns, the fullest of those that share one. */
function fullest(values: Uint16Array, columns: number, rows: number, width: number): Uint16Array {
  if (width === columns) return values;
  const reduced = new Uint16Array(width * rows);
  for (let column = 0; column < columns; column++) {
    const x = Math.floor((column * width) / columns);
    for (let row = 0; row < rows; row++) {
      const value = values[column * rows + row] ?? 0;
      if (value > (reduced[x * rows + row] ?? 0)) reduced[x * rows + row] = value;
    }
  }
  return reduced;
}
