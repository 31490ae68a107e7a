// The shares of every core over time as they come from the server, and what is asked of them.

import { bytesOf } from "../api/bytes";
import type { Cores } from "../api/types";
import type { Quantity } from "../address";

export const KINDS = ["system", "softirq", "user", "steal", "wait"] as const;
export type Kind = (typeof KINDS)[number];
export const NOT_RECORDED = 255;

export interface CoreGrid {
  readonly beginUs: number;
  readonly stepUs: number;
  readonly columns: number;
  readonly cores: readonly number[];
  readonly shares: Record<Kind, Uint8Array>; // core by core
}

export function coreGrid(answer: Cores): CoreGrid {
  return {
    beginUs: answer.begin_us,
    stepUs: answer.step_us,
    columns: answer.columns,
    cores: answer.cores,
    shares: {
      system: bytesOf(answer.system),
      softirq: bytesOf(answer.softirq),
      user: bytesOf(answer.user),
      steal: bytesOf(answer.steal),
      wait: bytesOf(answer.wait),
    },
  };
}

export function endUs(grid: CoreGrid): number {
  return grid.beginUs + grid.columns * grid.stepUs;
}

/** Waiting for a disk is idle time: it is shown, but it does not make a core busy. */
export function busyShare(grid: CoreGrid, index: number): number {
  const { system, softirq, user, steal } = grid.shares;
  if (user[index] === NOT_RECORDED) return NOT_RECORDED;
  return Math.min(100, system[index]! + softirq[index]! + user[index]! + steal[index]!);
}

export function leadingKind(grid: CoreGrid, index: number): Kind {
  let leading: Kind = "user";
  for (const kind of ["system", "softirq", "steal"] as const) {
    if (grid.shares[kind][index]! > grid.shares[leading][index]!) leading = kind;
  }
  return leading;
}

export function shareAt(grid: CoreGrid, quantity: Quantity, index: number): number {
  return quantity === "busy" ? busyShare(grid, index) : grid.shares[quantity][index]!;
}

/** Rows in the order to show: by number, or those with most of the quantity within the range first. */
export function rowOrder(
  grid: CoreGrid,
  quantity: Quantity,
  worstFirst: boolean,
  beginUs: number,
  endUs: number,
): number[] {
  const rows = grid.cores.map((_, row) => row);
  if (!worstFirst) return rows;
  const from = Math.max(0, Math.floor((beginUs - grid.beginUs) / grid.stepUs));
  const to = Math.min(grid.columns, Math.ceil((endUs - grid.beginUs) / grid.stepUs));
  const sums = rows.map((row) => rowSum(grid, quantity, row, from, to));
  return rows.sort((one, other) => sums[other]! - sums[one]! || one - other);
}

/** Squares, so that a few full seconds count for more than a long even load. */
function rowSum(grid: CoreGrid, quantity: Quantity, row: number, from: number, to: number): number {
  let sum = 0;
  for (let column = from; column < to; column++) {
    const share = shareAt(grid, quantity, row * grid.columns + column);
    if (share !== NOT_RECORDED) sum += share * share;
  }
  return sum;
}

/** The index into the shares at a moment, or -1 outside. */
export function indexAt(grid: CoreGrid, row: number, us: number): number {
  const column = Math.floor((us - grid.beginUs) / grid.stepUs);
  return column >= 0 && column < grid.columns && row >= 0 ? row * grid.columns + column : -1;
}
