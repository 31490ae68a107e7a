// Cores of a part of the range, cut from what a one-file page holds.

import { bytesOf } from "./bytes";
import type { ColumnsQuestion } from "./questions";
import type { Cores } from "./types";

const MODES = ["user", "system", "softirq", "steal", "wait"] as const;
const NOT_RECORDED = 255;
const CHUNK = 0x8000; // arguments of one call

/** From the finest that covers the asked part of the whole range; the whole is the longest. */
export function cutCores(all: readonly Cores[], question: ColumnsQuestion): Cores | null {
  const whole = all.reduce<Cores | null>(
    (best, one) => (best && length(best) >= length(one) ? best : one),
    null,
  );
  if (!whole) return null;
  const begin = Math.max(question.begin_us, whole.begin_us);
  const end = Math.min(question.end_us, endOf(whole));
  if (begin >= end) return null;
  const covering = all.filter((one) => one.begin_us <= begin && endOf(one) >= end);
  const finest = covering.reduce((best, one) => (one.step_us < best.step_us ? one : best), whole);
  return folded(finest, begin, end, question);
}

function length(cores: Cores): number {
  return cores.columns * cores.step_us;
}

function endOf(cores: Cores): number {
  return cores.begin_us + length(cores);
}

/** Columns put together so that there are no more than asked for: of each the fullest second. */
function folded(cores: Cores, beginUs: number, endUs: number, question: ColumnsQuestion): Cores {
  const { step_us } = cores;
  const fold = Math.max(1, Math.ceil((question.end_us - question.begin_us) / question.columns / step_us));
  const first = Math.floor((beginUs - cores.begin_us) / step_us / fold) * fold;
  const last = Math.min(cores.columns, Math.ceil((endUs - cores.begin_us) / step_us));
  if (fold === 1 && first === 0 && last === cores.columns) return cores;
  const columns = Math.ceil((last - first) / fold);
  const cut = { ...cores, begin_us: cores.begin_us + first * step_us, step_us: step_us * fold, columns };
  for (const mode of MODES) {
    cut[mode] = base64Of(foldRows(bytesOf(cores[mode]), cores, { first, last, fold, columns }));
  }
  return cut;
}

interface Part {
  first: number;
  last: number;
  fold: number;
  columns: number;
}

function foldRows(shares: Uint8Array, cores: Cores, { first, last, fold, columns }: Part): Uint8Array {
  const found = new Uint8Array(cores.cores.length * columns).fill(NOT_RECORDED);
  for (let row = 0; row < cores.cores.length; row++) {
    for (let column = first; column < last; column++) {
      const share = shares[row * cores.columns + column]!;
      const place = row * columns + Math.floor((column - first) / fold);
      if (share !== NOT_RECORDED && (found[place] === NOT_RECORDED || share > found[place]!))
        found[place] = share;
    }
  }
  return found;
}

function base64Of(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK)
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(text);
}
