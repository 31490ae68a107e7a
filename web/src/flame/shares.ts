// What a frame's part of the whole is, here and in the baseline.

import type { Side, Tree } from "./tree";

// 100 % is what the busier of the two sides has, so that the little that a quiet core does stays little.
export interface Wholes {
  readonly here: number;
  readonly baseline: number;
}

export function wholesOf(tree: Tree): Wholes {
  const sides = tree.baseline ? [tree.here, tree.baseline] : [tree.here];
  const rate = Math.max(...sides.map((side) => (side.total[0] ?? 0) / side.seconds));
  return { here: rate * tree.here.seconds, baseline: tree.baseline ? rate * tree.baseline.seconds : 0 };
}

export function shareHere(tree: Tree, wholes: Wholes, node: number): number {
  return share(tree.here, wholes.here, node);
}

export function shareBefore(tree: Tree, wholes: Wholes, node: number): number {
  return tree.baseline ? share(tree.baseline, wholes.baseline, node) : 0;
}

// By how much the share is larger here than in the baseline; 0 without one.
export function change(tree: Tree, wholes: Wholes, node: number): number {
  return tree.baseline ? shareHere(tree, wholes, node) - shareBefore(tree, wholes, node) : 0;
}

function share(side: Side, whole: number, node: number): number {
  return whole > 0 ? side.total[node]! / whole : 0;
}

// The largest change of any frame wide enough to matter, in either direction.
export function largestChange(tree: Tree, wholes: Wholes): number {
  if (!tree.baseline) return 0;
  let largest = 0;
  for (let node = 0; node < tree.count; node++) {
    largest = Math.max(largest, Math.abs(change(tree, wholes, node)));
  }
  return largest;
}

export function percent(ratio: number): string {
  const points = ratio * 100;
  return `${points >= 10 || points === 0 ? points.toFixed(1) : points.toPrecision(2)} %`;
}

export function points(ratio: number): string {
  const sign = ratio > 0 ? "+" : ratio < 0 ? "−" : "±";
  return `${sign}${(Math.abs(ratio) * 100).toFixed(2)} points`;
}

export function amount(number: number): string {
  return number.toLocaleString("en-US", { maximumFractionDigits: 1 });
}
