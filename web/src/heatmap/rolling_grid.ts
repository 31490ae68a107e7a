// The last minutes of every core, to which each answer adds its seconds.

import { KINDS, NOT_RECORDED } from "./core_grid";
import type { CoreGrid, Kind } from "./core_grid";

const SECOND_US = 1_000_000;

function emptyGrid(beginUs: number, columns: number, cores: readonly number[]): CoreGrid {
  const nothing = (): Uint8Array => new Uint8Array(columns * cores.length).fill(NOT_RECORDED);
  const shares = Object.fromEntries(KINDS.map((kind) => [kind, nothing()])) as Record<Kind, Uint8Array>;
  return { beginUs, stepUs: SECOND_US, columns, cores, shares };
}

function copySeconds(from: CoreGrid, to: CoreGrid): void {
  const offset = Math.round((from.beginUs - to.beginUs) / SECOND_US);
  const first = Math.max(0, -offset);
  const last = Math.min(from.columns, to.columns - offset);
  if (first >= last) return;
  from.cores.forEach((core, row) => {
    const target = to.cores.indexOf(core) * to.columns + offset;
    const source = row * from.columns;
    for (const kind of KINDS) {
      to.shares[kind].set(from.shares[kind].subarray(source + first, source + last), target + first);
    }
  });
}

/** `columns` seconds up to `endUs`; cores may come and go, and every answer has seconds as its step. */
export function rolled(
  before: CoreGrid | null,
  added: CoreGrid | null,
  endUs: number,
  columns: number,
): CoreGrid {
  const cores = [...new Set([...(before?.cores ?? []), ...(added?.cores ?? [])])].sort((a, b) => a - b);
  const grid = emptyGrid(endUs - columns * SECOND_US, columns, cores);
  if (before) copySeconds(before, grid);
  if (added) copySeconds(added, grid);
  return grid;
}
