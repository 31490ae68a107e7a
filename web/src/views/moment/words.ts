// Spans and numbers as the moment view writes them.

import type { Span } from "../../heatmap/scope_grid";
import { timeText } from "../../parts/time_text";

/** 17:03:22.125, for the second half of a range. */
export function clockTime(timeUs: number): string {
  return timeText(timeUs).slice(11).replace("Z", "");
}

export function writtenLength(lengthUs: number): string {
  const seconds = lengthUs / 1_000_000;
  if (seconds < 1) return `${round(seconds * 1000)} ms`;
  if (seconds < 120) return `${round(seconds)} s`;
  if (seconds < 7200) return `${round(seconds / 60)} min`;
  return `${round(seconds / 3600)} h`;
}

/** 2026-11-16 17:03:17Z to 17:03:22.125Z, 5.13 s. */
export function writtenSpan(span: Span): string {
  const isSameDay = timeText(span[0]).slice(0, 10) === timeText(span[1]).slice(0, 10);
  const end = isSameDay ? `${clockTime(span[1])}Z` : timeText(span[1]);
  return `${timeText(span[0])} to ${end}, ${writtenLength(span[1] - span[0])}`;
}

/** 17:03:17 to 17:03:22.125Z, 5.13 s: where the date stands beside it. */
export function clockSpan(span: Span): string {
  return `${clockTime(span[0])} to ${clockTime(span[1])}Z, ${writtenLength(span[1] - span[0])}`;
}

export function writtenCount(count: number): string {
  return count.toLocaleString("en-US");
}

export function writtenShare(share: number): string {
  const percent = share * 100;
  if (percent === 0) return "0%";
  if (percent < 0.1) return "<0.1%";
  return `${percent.toFixed(percent < 10 ? 1 : 0)}%`;
}

/** How often more than in quiet seconds. */
export function writtenLift(lift: number | null): string {
  if (lift === null) return "new";
  if (lift >= 1000) return ">999x";
  return `${lift < 10 ? lift.toFixed(1) : Math.round(lift)}x`;
}

/** The probability that chance alone does this, in words that do not promise more. */
export function chanceInWords(probability: number): string {
  if (probability <= 0.001) return "hardly chance";
  if (probability <= 0.05) return "unlikely chance";
  if (probability <= 0.5) return "may be chance";
  return "chance";
}

export function writtenProbability(probability: number): string {
  if (probability < 0.0001) return "<0.0001";
  return probability >= 0.995 ? "1" : Number(probability.toPrecision(2)).toString();
}

function round(value: number): string {
  return Number(value.toPrecision(3)).toString();
}
