// A call tree like that of a large capture: the same one in every run.

export interface Node {
  name: string;
  value: number;
  children: Node[];
}

interface Grown {
  readonly root: Node;
  readonly parent: number[];
  readonly label: number[];
  readonly total: number[];
  readonly own: number[];
  readonly names: string[];
}

const DISTINCT_NAMES = 6_000;
const DEEPEST = 60;

/** Stacks share their beginning with an earlier one, as those of programs do. */
export function growTree(nodes: number): Grown {
  const random = randomNumbers(20261116);
  const names = Array.from({ length: DISTINCT_NAMES }, (_, n) => `function_${n}_${"x".repeat(n % 24)}`);
  const parent = [0];
  const label = [0];
  const depth = [0];
  while (parent.length < nodes) {
    let at = Math.floor(random() ** 2 * parent.length);
    const length = 2 + Math.floor(random() * 24);
    for (let step = 0; step < length && parent.length < nodes && depth[at]! < DEEPEST; step++) {
      parent.push(at);
      label.push(Math.floor(random() ** 3 * DISTINCT_NAMES));
      depth.push(depth[at]! + 1);
      at = parent.length - 1;
    }
  }
  const own = parent.map(() => 1 + Math.floor(random() ** 8 * 400));
  const total = [...own];
  for (let node = nodes - 1; node > 0; node--) total[parent[node]!]! += total[node]!;
  return { root: nest(parent, label, total, names), parent, label, total, own, names };
}

function nest(parent: number[], label: number[], total: number[], names: string[]): Node {
  const made = parent.map((_, node): Node => ({
    name: names[label[node]!]!,
    value: total[node]!,
    children: [],
  }));
  for (let node = 1; node < made.length; node++) made[parent[node]!]!.children.push(made[node]!);
  return made[0]!;
}

/** A linear congruential generator: good enough here, and alike everywhere. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
