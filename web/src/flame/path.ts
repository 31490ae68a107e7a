// A frame as it stands in the address: short, and meaningful in another tree that has the same names.

import { ancestors } from "./boxes";
import { nameOf, type Tree } from "./tree";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const LENGTH = 4; // letters a name: 24 bits, so that two siblings hardly ever look alike

export function pathOf(tree: Tree, node: number): string {
  return ancestors(tree, node)
    .slice(1)
    .map((one) => shortName(nameOf(tree, one)))
    .join("");
}

// The deepest frame of this tree that the path leads to.
export function nodeAt(tree: Tree, path: string): number {
  let node = 0;
  for (let at = 0; at + LENGTH <= path.length; at += LENGTH) {
    const child = childNamed(tree, node, path.slice(at, at + LENGTH));
    if (child === null) break;
    node = child;
  }
  return node;
}

function childNamed(tree: Tree, node: number, short: string): number | null {
  for (let at = tree.childBegin[node]!; at < tree.childBegin[node + 1]!; at++) {
    const child = tree.children[at]!;
    if (shortName(nameOf(tree, child)) === short) return child;
  }
  return null;
}

// FNV-1a, folded to 24 bits.
export function shortName(name: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at++) {
    hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  }
  const bits = ((hash >>> 24) ^ hash) & 0xffffff;
  return [18, 12, 6, 0].map((shift) => LETTERS[(bits >>> shift) & 63]).join("");
}
