// Memory cgroups over time: tracked, in use, zombies, and where the trend leads (dashed).

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Zombies } from "../../api/types";
import type { Viewport } from "../../heatmap/viewport";
import { element } from "../../parts/element";
import { notShown } from "../../parts/states";
import { token } from "../../parts/theme";

const GUTTER_PIXELS = 64; // as in timeline.css
const HOUR_S = 3600;
const SERIES = ["tracked", "in use", "zombies"] as const;
const DASHES = [[], [2, 3], []];

export interface ZombieChart {
  readonly element: HTMLElement;
  show(zombies: Zombies): void;
  fail(error: unknown): void;
  draw(view: Viewport): void;
  restyle(): void;
}

export function zombieChart(): ZombieChart {
  const chart = element("div", { class: "chart" });
  const words = element("p", { class: "chart-words", role: "status" });
  const place = element("section", { class: "zombies", "aria-label": "Memory cgroups" }, words, chart);
  let zombies: Zombies | null = null;
  let plot: uPlot | null = null;
  let view: Viewport = { beginUs: 0, endUs: 1 };

  function build(): void {
    plot?.destroy();
    plot = null;
    if (!zombies || zombies.times_us.length === 0) return;
    plot = new uPlot(
      options(chart, () => forecastLine(zombies!)),
      dataOf(zombies),
      chart,
    );
    place_(view);
  }

  function place_(now: Viewport): void {
    view = now;
    if (!plot) return;
    if (plot.width !== chart.clientWidth)
      plot.setSize({ width: chart.clientWidth, height: chart.clientHeight });
    plot.setScale("x", { min: now.beginUs / 1e6, max: now.endUs / 1e6 });
  }

  return {
    element: place,
    show(now) {
      zombies = now;
      words.replaceChildren(...wordsOf(now));
      build();
    },
    fail(error) {
      zombies = null;
      words.replaceChildren(notShown("Memory cgroups", error));
      build();
    },
    draw: place_,
    restyle: build,
  };
}

function dataOf(zombies: Zombies): uPlot.AlignedData {
  return [zombies.times_us.map((us) => us / 1e6), zombies.tracked, zombies.in_use, zombies.zombies];
}

function colours(): string[] {
  return [token("--quiet-text"), token("--accent"), token("--trouble")];
}

function wordsOf(zombies: Zombies): (Node | string)[] {
  const keys = SERIES.map((name, i) => {
    const key = element("span", { class: "key" });
    key.style.borderTop = `2px ${DASHES[i]!.length > 0 ? "dotted" : "solid"} ${colours()[i]}`;
    return element("span", { class: "legend-row" }, key, `${name} ${newest(zombies, i)}`);
  });
  const future = zombies.forecast ? `- - ${zombies.forecast.text}` : zombies.why_none;
  return [element("b", {}, "Memory cgroups"), ...keys, element("span", { class: "quiet" }, future)];
}

function newest(zombies: Zombies, series: number): string {
  const values = [zombies.tracked, zombies.in_use, zombies.zombies][series]!;
  for (let i = values.length - 1; i >= 0; i--) if (values[i] != null) return values[i]!.toLocaleString("en");
  return "not recorded";
}

interface Line {
  atS: number;
  value: number;
  perHour: number;
}

function forecastLine(zombies: Zombies): Line | null {
  if (!zombies.forecast) return null;
  for (let i = zombies.times_us.length - 1; i >= 0; i--) {
    const value = zombies.tracked[i];
    if (value != null) return { atS: zombies.times_us[i]! / 1e6, value, perHour: zombies.forecast.per_hour };
  }
  return null;
}

function drawForecast(plot: uPlot, line: Line | null): void {
  const end = plot.scales.x?.max;
  if (!line || end == null) return;
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.setLineDash([6 * devicePixelRatio, 5 * devicePixelRatio]);
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.strokeStyle = token("--trouble");
  ctx.beginPath();
  ctx.moveTo(plot.valToPos(line.atS, "x", true), plot.valToPos(line.value, "y", true));
  const later = line.value + ((end - line.atS) / HOUR_S) * line.perHour;
  ctx.lineTo(plot.valToPos(end, "x", true), plot.valToPos(later, "y", true));
  ctx.stroke();
  ctx.restore();
}

function options(chart: HTMLElement, line: () => Line | null): uPlot.Options {
  const axis = {
    stroke: token("--quiet-text"),
    grid: { stroke: token("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: Math.max(80, chart.clientWidth),
    height: Math.max(60, chart.clientHeight),
    padding: [8, 0, 4, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: true }, y: { range: (_, low, high) => yRange(low, high) } },
    axes: [
      { ...axis, show: false },
      {
        ...axis,
        size: GUTTER_PIXELS,
        space: 24,
        values: (_, values) => values.map((value) => value.toLocaleString("en")),
      },
    ],
    series: [
      {},
      ...SERIES.map((label, i) => ({
        label,
        stroke: colours()[i]!,
        width: 1.5,
        dash: DASHES[i]!,
        spanGaps: false,
        points: { show: false },
      })),
    ],
    hooks: { draw: [(plot) => drawForecast(plot, line())] },
  };
}

/** From zero, so that small changes do not look like cliffs, with air for the dashed line. */
function yRange(low: number | null, high: number | null): [number, number] {
  return [Math.min(0, low ?? 0), Math.max(1, (high ?? 1) * 1.15)];
}
