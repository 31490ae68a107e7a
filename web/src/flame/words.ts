// What the graph says in words.

import type { Flame } from "../api/types";
import type { Lit } from "./lit";
import { amount, percent } from "./shares";
import type { Tree } from "./tree";

export const KEYS =
  "Arrow keys walk the frames, Enter zooms, Backspace goes back, Escape shows all, / searches.";

export function foundText(lit: Lit | null, tree: Tree): string {
  if (!lit) return "";
  if (lit.widest < 0) return "nothing found";
  const before = tree.baseline ? `, ${percent(lit.baselineShare)} in the baseline` : "";
  return `in ${percent(lit.share)} of the samples${before}`;
}

export function emptyText(flame: Flame): string[] {
  const idle = flame.idle ? `${amount(flame.idle)} samples of idle cores are hidden.` : "";
  return ["No samples here.", idle || "Choose a longer time, or fewer filters."];
}

export function summary(flame: Flame): string {
  const against = flame.baseline ? `, against ${flame.baseline.text}` : "";
  return `Flame graph: ${flame.title}${against}; ${amount(flame.samples)} samples. ${KEYS}`;
}
