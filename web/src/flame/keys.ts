// Where an arrow key leads from a frame.

import type { Box, Boxes } from "./boxes";
import type { Tree } from "./tree";

/** The frame to go to; the same where there is none. */
export function step(tree: Tree, boxes: Boxes, node: number, key: string, icicle: boolean): number {
  switch (key) {
    case "ArrowLeft":
      return beside(tree, boxes, node, -1);
    case "ArrowRight":
      return beside(tree, boxes, node, 1);
    case "ArrowUp":
      return icicle ? tree.parent[node]! : widestChild(tree, boxes, node);
    case "ArrowDown":
      return icicle ? widestChild(tree, boxes, node) : tree.parent[node]!;
    case "Home":
      return 0;
    default:
      return node;
  }
}

function beside(tree: Tree, boxes: Boxes, node: number, by: 1 | -1): number {
  const row = boxes.rows[tree.depth[node]!] ?? [];
  const place = row.findIndex((box) => box.node === node);
  return row[place + by]?.node ?? node;
}

function widestChild(tree: Tree, boxes: Boxes, node: number): number {
  const row = boxes.rows[tree.depth[node]! + 1] ?? [];
  let widest: Box | null = null;
  for (const box of row) {
    if (tree.parent[box.node] === node && (!widest || box.width > widest.width)) widest = box;
  }
  return widest?.node ?? node;
}
