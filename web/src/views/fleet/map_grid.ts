// The map as it comes from the server: groups x columns, and what is asked of its cells. All pure.

import type { Heat } from "../../address";
import { wordsOf } from "../../api/bytes";
import type { FleetGroup, FleetMap } from "../../api/types";
import { rangeText } from "../../parts/time_text";
import { many, percentText, PER_HOURS, shortNumber } from "./numbers";

export interface MapGrid {
  readonly beginUs: number;
  readonly stepUs: number;
  readonly columns: number;
  readonly groups: readonly FleetGroup[];
  readonly episodes: Uint32Array;
  readonly affected: Uint32Array;
  readonly recordedSeconds: Uint32Array;
}

export interface Cell {
  readonly row: number;
  readonly column: number;
}

export function mapGrid(answer: FleetMap): MapGrid {
  return {
    beginUs: answer.begin_us,
    stepUs: answer.step_us,
    columns: answer.columns,
    groups: answer.groups,
    episodes: wordsOf(answer.episodes),
    affected: wordsOf(answer.affected),
    recordedSeconds: wordsOf(answer.recorded_seconds),
  };
}

export function endUs(grid: MapGrid): number {
  return grid.beginUs + grid.columns * grid.stepUs;
}

export function spanOfColumn(grid: MapGrid, column: number): [number, number] {
  const beginUs = grid.beginUs + column * grid.stepUs;
  return [beginUs, beginUs + grid.stepUs];
}

/** The column that a span of the address stands for; -1 where it is none of this map. */
export function columnOfSpan(grid: MapGrid, span: readonly [number, number] | null): number {
  const column = span ? (span[0] - grid.beginUs) / grid.stepUs : -1;
  return Number.isInteger(column) && column >= 0 && column < grid.columns ? column : -1;
}

/** Episodes per 1,000 host-hours, or the part of the hosts that was affected; NaN: not recorded. */
export function valueAt(grid: MapGrid, heat: Heat, index: number): number {
  const seconds = grid.recordedSeconds[index]!;
  if (seconds === 0) return grid.episodes[index]! > 0 ? Infinity : NaN;
  if (heat === "rate") return (grid.episodes[index]! / (seconds / 3600)) * PER_HOURS;
  return Math.min(1, grid.affected[index]! / (seconds / (grid.stepUs / 1e6)));
}

const COMMON = 0.97; // the few cells beyond this share of them do not set the scale

/** What is drawn as the strongest. One odd cell must not make all others look alike. */
export function strongest(grid: MapGrid, heat: Heat): number {
  const values: number[] = [];
  for (let index = 0; index < grid.episodes.length; index++) {
    const value = valueAt(grid, heat, index);
    if (value > 0 && value < Infinity) values.push(value);
  }
  values.sort((one, other) => one - other);
  return values[Math.floor((values.length - 1) * COMMON)] ?? 0;
}

export function heatText(value: number, heat: Heat): string {
  return heat === "rate" ? shortNumber(value) : percentText(value);
}

export function cellText(grid: MapGrid, cell: Cell): string {
  const group = grid.groups[cell.row]!;
  const index = cell.row * grid.columns + cell.column;
  const when = rangeText(...spanOfColumn(grid, cell.column));
  const seconds = grid.recordedSeconds[index]!;
  const episodes = many(grid.episodes[index]!, "episode");
  const hosts = many(grid.affected[index]!, "host");
  if (seconds === 0 && grid.episodes[index] === 0) return `${group.name}\n${when}\nnot recorded`;
  return `${group.name}\n${when}\n${episodes} on ${hosts}\n${many(seconds / 3600, "host-hour")} recorded`;
}
