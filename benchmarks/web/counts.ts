// Samples of a heatmap, the same in every run.

import { randomNumbers } from "./tree";

export const ROWS = 50; // a second

export function counts(columns: number): Uint16Array {
  const random = randomNumbers(7);
  return Uint16Array.from({ length: columns * ROWS }, () => Math.floor(random() ** 4 * 60));
}
