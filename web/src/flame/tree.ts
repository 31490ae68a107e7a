// A flame graph's tree in columns, with its children in the order of their names.

import type { Flame } from "../api/types";
import { wordsOf } from "../api/bytes";

export interface Label {
  readonly name: string;
  readonly kind: string;
  readonly module: string;
}

// Node 0 is the root; a parent stands before its children. The children of node n are
// children[childBegin[n]] to children[childBegin[n + 1] - 1].
export interface Tree {
  readonly count: number;
  readonly parent: Uint32Array;
  readonly label: Uint32Array;
  readonly labels: readonly Label[];
  readonly depth: Uint16Array;
  readonly deepest: number;
  readonly childBegin: Uint32Array;
  readonly children: Uint32Array;
  readonly here: Side;
  readonly baseline: Side | null;
}

export interface Side {
  readonly total: Uint32Array;
  readonly own: Uint32Array;
  readonly seconds: number;
}

export const SHORTEST_SECONDS = 0.001; // of a range with a single sample

export function readTree(flame: Flame): Tree {
  const here = readSide(flame.total, flame.own, flame.seconds);
  const isDifference = flame.baseline && flame.baseline_total != null && flame.baseline_own != null;
  const baseline = isDifference
    ? readSide(flame.baseline_total!, flame.baseline_own!, flame.baseline!.seconds)
    : null;
  return growTree(wordsOf(flame.parent), wordsOf(flame.label), flame.labels, here, baseline);
}

function readSide(total: string, own: string, seconds: number): Side {
  return { total: wordsOf(total), own: wordsOf(own), seconds: Math.max(seconds, SHORTEST_SECONDS) };
}

export function growTree(
  parent: Uint32Array,
  label: Uint32Array,
  labels: readonly Label[],
  here: Side,
  baseline: Side | null,
): Tree {
  const count = parent.length;
  const sides = baseline ? [here, baseline] : [here];
  const columns = [label, ...sides.flatMap((side) => [side.total, side.own])];
  if (columns.some((column) => column.length !== count))
    throw new Error("the tree's columns differ in length");
  const depth = new Uint16Array(count);
  let deepest = 0;
  for (let node = 1; node < count; node++) {
    if (parent[node]! >= node) throw new Error("a node of the tree stands before its parent");
    depth[node] = depth[parent[node]!]! + 1;
    if (depth[node]! > deepest) deepest = depth[node]!;
  }
  const inOrder = sortBy(label, rankLabels(labels), labels.length);
  return { count, parent, label, labels, depth, deepest, here, baseline, ...groupByParent(parent, inOrder) };
}

// Siblings stand in the same order in every graph, also in the exported SVG.
function rankLabels(labels: readonly Label[]): Uint32Array {
  const order = labels.map((_, number) => number);
  order.sort((one, other) => compareLabels(labels[one]!, labels[other]!));
  const rank = new Uint32Array(labels.length);
  order.forEach((number, place) => (rank[number] = place));
  return rank;
}

function compareLabels(one: Label, other: Label): number {
  return compare(one.name, other.name) || compare(one.kind, other.kind) || compare(one.module, other.module);
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

// A counting sort: comparing 276,000 names would take longer than drawing them.
function sortBy(label: Uint32Array, rank: Uint32Array, ranks: number): Uint32Array {
  const begin = new Uint32Array(ranks + 1);
  for (let node = 0; node < label.length; node++) begin[rank[label[node]!]! + 1]!++;
  for (let place = 0; place < ranks; place++) begin[place + 1]! += begin[place]!;
  const sorted = new Uint32Array(label.length);
  for (let node = 0; node < label.length; node++) sorted[begin[rank[label[node]!]!]!++] = node;
  return sorted;
}

function groupByParent(
  parent: Uint32Array,
  inOrder: Uint32Array,
): { childBegin: Uint32Array; children: Uint32Array } {
  const count = parent.length;
  const childBegin = new Uint32Array(count + 1);
  for (let node = 1; node < count; node++) childBegin[parent[node]! + 1]!++;
  for (let node = 0; node < count; node++) childBegin[node + 1]! += childBegin[node]!;
  const next = childBegin.slice();
  const children = new Uint32Array(Math.max(count - 1, 0));
  for (let at = 0; at < count; at++) {
    const node = inOrder[at]!;
    if (node !== 0) children[next[parent[node]!]!++] = node;
  }
  return { childBegin, children };
}

export function nameOf(tree: Tree, node: number): string {
  return tree.labels[tree.label[node]!]?.name || "[unknown]";
}

export function labelOf(tree: Tree, node: number): Label {
  return tree.labels[tree.label[node]!] ?? { name: "", kind: "unknown", module: "" };
}
