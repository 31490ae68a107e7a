// Numbers of the fleet as the page writes them.

import type { Interval } from "../../api/types";
import { durationText, SECOND_US } from "../../parts/time_text";

export function countText(count: number): string {
  return Math.round(count).toLocaleString("en");
}

/** "1 host", "5,000 hosts". */
export function many(count: number, one: string, more = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : more}`;
}

/** Two digits that matter: 7.7, 12, 0.062. */
export function shortNumber(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 10) return countText(value);
  return size >= 1 ? value.toFixed(1) : String(Number(value.toPrecision(2)));
}

export function timesText(ratio: number | null | undefined): string {
  return ratio === null || ratio === undefined ? "not known" : `${shortNumber(ratio)}x`;
}

/** What nothing limits is said so. */
export function intervalText(interval: Interval | null | undefined): string {
  if (!interval) return "";
  const low = interval.low === null ? "0" : shortNumber(interval.low);
  return interval.high === null ? `${low} or more` : `${low} to ${shortNumber(interval.high)}`;
}

export const PER_HOURS = 1000;

/** Episodes per 1,000 hours of hosts; null where no hour was recorded. */
export function ratePer1000(episodes: number, hostHours: number): number | null {
  return hostHours > 0 ? (episodes / hostHours) * PER_HOURS : null;
}

export function rateText(episodes: number, hostHours: number): string {
  const rate = ratePer1000(episodes, hostHours);
  return rate === null ? "not recorded" : shortNumber(rate);
}

export function percentText(part: number): string {
  const percent = part * 100;
  if (percent > 0 && percent < 0.1) return "< 0.1 %";
  return `${percent < 10 && percent > 0 ? percent.toFixed(1) : Math.round(percent)} %`;
}

/** A probability as people compare it. */
export function chanceText(p: number | null | undefined): string {
  if (p === null || p === undefined) return "not tested";
  return p < 0.0001 ? "< 0.0001" : String(Number(p.toPrecision(2)));
}

export function secondsText(seconds: number): string {
  return durationText(seconds * SECOND_US);
}

/** labels/zone is zone; other facts keep their section. */
export function labelText(label: string): string {
  return label.replace(/^labels\//, "");
}

export function valueText(label: string, value: string): string {
  return `${labelText(label)} = ${value}`;
}
