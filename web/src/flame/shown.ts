// An answer of the server, ready to be drawn.

import type { Flame } from "../api/types";
import { changeColour, labelColours } from "./colours";
import type { Drawn } from "./graph";
import { layOut } from "./layout";
import { change, largestChange, wholesOf, type Wholes } from "./shares";
import { readTree, type Tree } from "./tree";

export interface Shown extends Drawn {
  readonly flame: Flame;
  readonly wholes: Wholes;
  readonly largest: number | null; // change; null where there is no baseline
}

export function prepare(flame: Flame): Shown {
  const tree = readTree(flame);
  const wholes = wholesOf(tree);
  const largest = tree.baseline ? largestChange(tree, wholes) : null;
  return { flame, tree, layout: layOut(tree), wholes, largest, colour: colouring(tree, wholes, largest) };
}

function colouring(tree: Tree, wholes: Wholes, largest: number | null): (node: number) => string {
  const colours = labelColours(tree.labels);
  if (largest === null) return (node) => colours[tree.label[node]!]!;
  return (node) => changeColour(change(tree, wholes, node), largest);
}
