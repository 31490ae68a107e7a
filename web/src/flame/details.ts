// What is told of a frame.

import { amount, change, percent, points, shareBefore, shareHere, type Wholes } from "./shares";
import { labelOf, nameOf, type Side, type Tree } from "./tree";

export interface Details {
  readonly name: string;
  readonly rows: readonly (readonly [string, string])[];
}

const KIND_WORDS: Readonly<Record<string, string>> = {
  kernel: "kernel function",
  user: "function of a program",
  jit: "function compiled at run time",
  unknown: "without a name",
};

export function detailsOf(tree: Tree, wholes: Wholes, node: number): Details {
  const label = labelOf(tree, node);
  const rows: [string, string][] = [];
  if (KIND_WORDS[label.kind]) rows.push(["kind", KIND_WORDS[label.kind]!]);
  if (label.module) rows.push(["module", label.module]);
  rows.push(["share of all", percent(shareHere(tree, wholes, node))]);
  if (node !== 0) rows.push(["share of its parent", percent(shareOfParent(tree.here, tree, node))]);
  rows.push(...sideRows(tree.here, node));
  if (tree.baseline) {
    rows.push(["share in the baseline", percent(shareBefore(tree, wholes, node))]);
    rows.push(
      ...sideRows(tree.baseline, node).map(([name, value]): [string, string] => [`${name} there`, value]),
    );
    rows.push(["change", points(change(tree, wholes, node))]);
  }
  return { name: nameOf(tree, node), rows };
}

function sideRows(side: Side, node: number): [string, string][] {
  return [
    ["samples", `${amount(side.total[node]!)}, ${amount(side.own[node]!)} in itself`],
    ["samples a second", amount(side.total[node]! / side.seconds)],
  ];
}

function shareOfParent(side: Side, tree: Tree, node: number): number {
  return side.total[node]! / Math.max(side.total[tree.parent[node]!]!, 1);
}

/** The same as one sentence, for the ear and the phone. */
export function sentenceOf(tree: Tree, wholes: Wholes, node: number): string {
  const { name, rows } = detailsOf(tree, wholes, node);
  return `${name}: ${rows.map(([what, value]) => `${what} ${value}`).join("; ")}`;
}
