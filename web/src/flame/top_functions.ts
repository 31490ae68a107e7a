// The functions with the most samples, in themselves and with what they call.

import type { Tree } from "./tree";

export interface TopFunction {
  readonly label: number;
  readonly own: number;
  readonly total: number;
  readonly baselineOwn: number;
  readonly baselineTotal: number;
}

// A function that calls itself is counted once a stack.
export function topFunctions(tree: Tree, by: "own" | "total", most: number): TopFunction[] {
  const labels = tree.labels.length;
  const [own, total] = [new Float64Array(labels), new Float64Array(labels)];
  const [baselineOwn, baselineTotal] = [new Float64Array(labels), new Float64Array(labels)];
  const { here, baseline } = tree;
  visit(tree, (node, label, isOutermost) => {
    own[label]! += here.own[node]!;
    if (baseline) baselineOwn[label]! += baseline.own[node]!;
    if (!isOutermost) return;
    total[label]! += here.total[node]!;
    if (baseline) baselineTotal[label]! += baseline.total[node]!;
  });
  const rows: TopFunction[] = [];
  for (let label = 0; label < labels; label++) {
    if (tree.labels[label]!.kind === "root" || !(total[label]! + baselineTotal[label]!)) continue;
    rows.push({
      label,
      own: own[label]!,
      total: total[label]!,
      baselineOwn: baselineOwn[label]!,
      baselineTotal: baselineTotal[label]!,
    });
  }
  return rows.sort((one, other) => other[by] - one[by] || other.total - one.total).slice(0, most);
}

// Every node but the root once, with whether no node above it has the same label.
function visit(tree: Tree, see: (node: number, label: number, isOutermost: boolean) => void): void {
  const above = new Uint32Array(tree.labels.length);
  const pending = [0];
  while (pending.length) {
    const node = pending.pop()!;
    if (node < 0) {
      above[tree.label[~node]!]!--; // everything below it is done
      continue;
    }
    const label = tree.label[node]!;
    if (node > 0) see(node, label, above[label] === 0);
    above[label]!++;
    pending.push(~node);
    for (let at = tree.childBegin[node]!; at < tree.childBegin[node + 1]!; at++)
      pending.push(tree.children[at]!);
  }
}
