// Small trees for the tests, written as folded stacks: "java;main;read" with its samples here and before.

import type { Flame } from "../src/api/types";
import { growTree, readTree, type Label, type Side, type Tree } from "../src/flame/tree";

export type Stacks = Record<string, number | [number, number]>;

interface Columns {
  parent: number[];
  label: number[];
  labels: Label[];
  total: number[];
  own: number[];
  baselineTotal: number[];
  baselineOwn: number[];
}

/** The first name of a stack is a process. */
export function columnsOf(stacks: Stacks): Columns {
  const columns: Columns = {
    parent: [0],
    label: [0],
    labels: [{ name: "all", kind: "root", module: "" }],
    total: [0],
    own: [0],
    baselineTotal: [0],
    baselineOwn: [0],
  };
  for (const [stack, counts] of Object.entries(stacks)) {
    const [here, before] = typeof counts === "number" ? [counts, 0] : counts;
    let node = 0;
    add(columns, node, here, before);
    stack.split(";").forEach((name, depth) => {
      node = child(columns, node, labelFor(columns, name, depth === 0 ? "root" : "kernel"));
      add(columns, node, here, before);
    });
    columns.own[node]! += here;
    columns.baselineOwn[node]! += before;
  }
  return columns;
}

function add(columns: Columns, node: number, here: number, before: number): void {
  columns.total[node]! += here;
  columns.baselineTotal[node]! += before;
}

function labelFor(columns: Columns, name: string, kind: string): number {
  const found = columns.labels.findIndex((label) => label.name === name && label.kind === kind);
  return found >= 0 ? found : columns.labels.push({ name, kind, module: "" }) - 1;
}

function child(columns: Columns, parent: number, label: number): number {
  const found = columns.parent.findIndex(
    (one, node) => node > 0 && one === parent && columns.label[node] === label,
  );
  if (found >= 0) return found;
  columns.parent.push(parent);
  columns.label.push(label);
  for (const counts of [columns.total, columns.own, columns.baselineTotal, columns.baselineOwn])
    counts.push(0);
  return columns.parent.length - 1;
}

export function treeOf(stacks: Stacks, seconds = 1, baselineSeconds: number | null = null): Tree {
  const columns = columnsOf(stacks);
  const side = (total: number[], own: number[], long: number): Side => ({
    total: Uint32Array.from(total),
    own: Uint32Array.from(own),
    seconds: long,
  });
  return growTree(
    Uint32Array.from(columns.parent),
    Uint32Array.from(columns.label),
    columns.labels,
    side(columns.total, columns.own, seconds),
    baselineSeconds === null ? null : side(columns.baselineTotal, columns.baselineOwn, baselineSeconds),
  );
}

export function answerOf(stacks: Stacks): Flame {
  const columns = columnsOf(stacks);
  const words = (numbers: number[]): string =>
    Buffer.from(Uint32Array.from(numbers).buffer).toString("base64");
  return {
    title: "a test",
    notes: [],
    samples: columns.total[0]!,
    idle: 0,
    unknown: 0,
    lost: 0,
    seconds: 1,
    nodes: columns.parent.length,
    parent: words(columns.parent),
    label: words(columns.label),
    total: words(columns.total),
    own: words(columns.own),
    baseline_total: null,
    baseline_own: null,
    labels: columns.labels,
    baseline: null,
    damaged: [],
  };
}

export function nodeNamed(tree: Tree, ...names: string[]): number {
  let node = 0;
  for (const name of names) {
    const below = [...tree.children.slice(tree.childBegin[node], tree.childBegin[node + 1])];
    const found = below.find((one) => tree.labels[tree.label[one]!]!.name === name);
    if (found === undefined) throw new Error(`no ${name} below node ${node}`);
    node = found;
  }
  return node;
}

export { readTree };
