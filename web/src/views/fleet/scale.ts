// Where a number stands on an axis. All axes here are logarithmic: ratios and waiting times both are.

export interface Scale {
  readonly low: number;
  readonly high: number;
  readonly ticks: readonly (readonly [number, string])[];
}

/** 0 to 1; what lies beyond the axis is at its end. */
export function partOn(scale: Scale, value: number): number {
  if (value <= scale.low) return 0;
  if (value >= scale.high) return 1;
  return Math.log(value / scale.low) / Math.log(scale.high / scale.low);
}

export interface Ranged {
  readonly value: number | null;
  readonly low: number | null; // null: nothing limits it
  readonly high: number | null;
}

const NARROWEST = 4;
const WIDEST = 128;

/** An axis around 1 on which as much lies on either side, so that 1 stands in the middle. */
export function ratioScale(rows: readonly Ranged[]): Scale {
  let most = NARROWEST;
  for (const row of rows) {
    for (const edge of [row.value, row.low, row.high]) {
      if (edge !== null && edge > 0) most = Math.max(most, edge, 1 / edge);
    }
  }
  const high = Math.min(WIDEST, 2 ** Math.ceil(Math.log2(most)));
  const step = high > 16 ? 4 : 2;
  const ticks: [number, string][] = [[1, "1x"]];
  for (let tick = step; tick < high; tick *= step) ticks.push([tick, `${tick}x`], [1 / tick, `1/${tick}`]);
  return { low: 1 / high, high, ticks: ticks.sort((one, other) => one[0] - other[0]) };
}

const HOUR_S = 3600;
const WAITS: readonly (readonly [number, string])[] = [
  [HOUR_S, "1 h"],
  [6 * HOUR_S, "6 h"],
  [24 * HOUR_S, "1 d"],
  [7 * 24 * HOUR_S, "7 d"],
  [30 * 24 * HOUR_S, "30 d"],
];

/** From half an hour to two months. */
export function waitScale(): Scale {
  return { low: HOUR_S / 2, high: 60 * 24 * HOUR_S, ticks: WAITS };
}
