// The frames that are wide enough to be seen, row by row.

import type { Layout } from "./layout";
import type { Tree } from "./tree";

export const NARROWEST_PIXELS = 0.5;

export interface Box {
  readonly node: number;
  readonly x: number;
  readonly width: number;
}

/** One row a depth, each from left to right. */
export interface Boxes {
  readonly rows: Box[][];
  readonly dust: Box[][]; // where narrower frames lie side by side; the node is their parent
  readonly drawn: number;
}

/** What stands below the zoomed node takes its width, and its ancestors all of it, since they lead back. */
export function visibleBoxes(tree: Tree, layout: Layout, zoom: number, pixels: number): Boxes {
  const way = ancestors(tree, zoom);
  const rows: Box[][] = way.map((node) => [{ node, x: 0, width: pixels }]);
  const dust: Box[][] = way.map(() => []);
  const place = { left: layout.start[zoom] ?? 0, scale: pixels / (layout.width[zoom] || 1) };
  let drawn = rows.length;
  for (let above = rows[rows.length - 1]!; above.length; above = rows[rows.length - 1]!) {
    const [row, narrow]: [Box[], Box[]] = [[], []];
    for (const box of above) addChildren(tree, layout, box.node, place, row, narrow);
    rows.push(row);
    dust.push(narrow);
    drawn += row.length;
  }
  if (!dust[dust.length - 1]!.length) {
    rows.pop();
    dust.pop();
  }
  return { rows, dust, drawn };
}

function addChildren(
  tree: Tree,
  layout: Layout,
  node: number,
  place: { left: number; scale: number },
  row: Box[],
  narrow: Box[],
): void {
  let [dustBegin, dustWidth] = [0, 0];
  const settle = (): void => {
    if (dustWidth >= NARROWEST_PIXELS) narrow.push({ node, x: dustBegin, width: dustWidth });
    dustWidth = 0;
  };
  for (let at = tree.childBegin[node]!; at < tree.childBegin[node + 1]!; at++) {
    const child = tree.children[at]!;
    const x = (layout.start[child]! - place.left) * place.scale;
    const width = layout.width[child]! * place.scale;
    if (width >= NARROWEST_PIXELS) {
      settle();
      row.push({ node: child, x, width });
    } else {
      if (dustWidth === 0) dustBegin = x;
      dustWidth += width;
    }
  }
  settle();
}

/** The box of a row at a place. */
export function boxAt(boxes: Boxes, depth: number, x: number): Box | null {
  return within(boxes.rows[depth] ?? [], x) ?? null;
}

function within(row: readonly Box[], x: number): Box | undefined {
  let [low, high] = [0, row.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row[middle]!.x <= x) low = middle + 1;
    else high = middle;
  }
  const box = row[low - 1];
  return box && x <= box.x + box.width ? box : undefined;
}

/** From the root to the node itself. */
export function ancestors(tree: Tree, node: number): number[] {
  const way = [node];
  for (let at = node; at !== 0; at = tree.parent[at]!) way.push(tree.parent[at]!);
  return way.reverse();
}
