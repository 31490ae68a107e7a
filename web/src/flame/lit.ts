// Which frames stand out: those that a search finds, or those of a suspect.

import { labelOf, type Tree } from "./tree";

export interface Lit {
  readonly nodes: Uint8Array; // 1: stands out
  readonly share: number; // of the samples here that have such a frame
  readonly baselineShare: number;
  readonly widest: number; // the outermost frame with the most samples; -1 if there is none
}

export interface Names {
  readonly process: string;
  readonly function: string;
}

export function isSameMark(one: Names | null | undefined, other: Names | null | undefined): boolean {
  return one?.process === other?.process && one?.function === other?.function;
}

export function countOf({ nodes }: Lit): number {
  return nodes.reduce((count, isLit) => count + isLit, 0);
}

export function litByLabels(tree: Tree, matches: Uint8Array): Lit {
  return lightUp(tree, (node) => node !== 0 && matches[tree.label[node]!] === 1);
}

// A process is lit with all it did; a function only where that process ran it, if the tree tells.
export function litByNames(tree: Tree, names: Names): Lit {
  const isProcess = (node: number) => isNamed(tree, node, names.process);
  const process = names.process ? spread(tree, isProcess) : null;
  const inside = process?.includes(1) ? process : null;
  if (!names.function) return lightUp(tree, (node) => inside !== null && inside[node] === 1);
  const labels = tree.labels.map((label) => label.kind !== "root" && label.name === names.function);
  return lightUp(tree, (node) => labels[tree.label[node]!]! && (inside === null || inside[node] === 1));
}

// `java` is also the `java (4711)` of a graph by process or thread.
function isNamed(tree: Tree, node: number, process: string): boolean {
  const label = labelOf(tree, node);
  if (node === 0 || label.kind !== "root") return false;
  return label.name === process || label.name.replace(/ \(\d+\)$/, "") === process;
}

function spread(tree: Tree, isSource: (node: number) => boolean): Uint8Array {
  const found = new Uint8Array(tree.count);
  for (let node = 1; node < tree.count; node++) {
    if (found[tree.parent[node]!] || isSource(node)) found[node] = 1;
  }
  return found;
}

function lightUp(tree: Tree, isLit: (node: number) => boolean): Lit {
  const nodes = new Uint8Array(tree.count);
  const covered = new Uint8Array(tree.count); // itself or an ancestor is lit: counted once
  let [samples, before, widest] = [0, 0, -1];
  for (let node = 0; node < tree.count; node++) {
    const below = node > 0 && covered[tree.parent[node]!] === 1;
    if (isLit(node)) nodes[node] = 1;
    if (below || nodes[node]) covered[node] = 1;
    if (!nodes[node] || below) continue;
    samples += tree.here.total[node]!;
    before += tree.baseline?.total[node] ?? 0;
    if (widest < 0 || tree.here.total[node]! > tree.here.total[widest]!) widest = node;
  }
  return {
    nodes,
    share: samples / Math.max(tree.here.total[0] ?? 0, 1),
    baselineShare: before / Math.max(tree.baseline?.total[0] ?? 0, 1),
    widest,
  };
}
