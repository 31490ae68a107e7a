// Where every frame lies, as fractions of the whole width.

import type { Tree } from "./tree";

export interface Layout {
  readonly start: Float64Array;
  readonly width: Float64Array;
}

// A frame of a difference is as wide as the mean of its shares here and in the baseline, as in the
// exported SVG: what vanished is seen, and children never stand out over their parent.
export function layOut(tree: Tree): Layout {
  const width = weigh(tree);
  const start = new Float64Array(tree.count);
  for (let node = 0; node < tree.count; node++) {
    let x = start[node]!;
    for (let at = tree.childBegin[node]!; at < tree.childBegin[node + 1]!; at++) {
      const child = tree.children[at]!;
      start[child] = x;
      x += width[child]!;
    }
  }
  return { start, width };
}

function weigh(tree: Tree): Float64Array {
  const { here, baseline } = tree;
  const weight = new Float64Array(here.total);
  if (baseline) {
    const scale = here.seconds / baseline.seconds;
    for (let node = 0; node < weight.length; node++) weight[node]! += baseline.total[node]! * scale;
  }
  const whole = weight[0] || 1;
  for (let node = 0; node < weight.length; node++) weight[node]! /= whole;
  if (weight.length) weight[0] = 1; // also without samples
  return weight;
}
