// The map of groups x time: names on the left, rates on the right, and a cursor for the keyboard.

import type { Heat } from "../../address";
import type { FleetGroup, FleetMap } from "../../api/types";
import { cssColour, heatStops } from "../../heatmap/colours";
import { timeAxis } from "../../heatmap/time_axis";
import { element } from "../../parts/element";
import { theme } from "../../parts/theme";
import { hideTooltip, showTooltip } from "../../parts/tooltip";
import { cellText, columnOfSpan, endUs, heatText, mapGrid, spanOfColumn, strongest } from "./map_grid";
import type { Cell, MapGrid } from "./map_grid";
import { drawMap, mapImage } from "./map_picture";
import { many, rateText } from "./numbers";

const SHARED = "(all others)"; // the server's row of those with the fewest hosts: nobody can tell whose events

export interface Chosen {
  readonly group: string;
  readonly span: [number, number] | null; // null: the whole row
}

export interface MapActions {
  choose(chosen: Chosen): void;
  leave(): void;
  announce(text: string): void;
}

export interface MapPanel {
  readonly element: HTMLElement;
  show(answer: FleetMap): void;
  arrange(heat: Heat, chosen: Chosen): void;
  draw(): void;
}

export function mapPanel(actions: MapActions): MapPanel {
  const canvas = element("canvas", { tabindex: 0, role: "application" });
  const names = element("div", { class: "map-names", role: "group", "aria-label": "Groups" });
  const rates = element("div", { class: "map-rates", "aria-hidden": "true" });
  const axis = timeAxis();
  const meaning = element("div", { class: "legend" });
  const frame = element("div", { class: "map-frame" }, names, canvas, rates);
  const place = element("div", { class: "fleet-map" }, frame, axis.element, meaning);
  let grid: MapGrid | null = null;
  let image: HTMLCanvasElement | null = null;
  let heat: Heat = "rate";
  let chosen: Chosen = { group: "", span: null };
  let cursor: Cell | null = null;

  function paint(): void {
    if (!grid) return;
    image = mapImage(grid, heat);
    meaning.replaceChildren(...legend(grid, heat));
    draw();
  }

  function draw(): void {
    if (!grid || !image) return;
    const row = grid.groups.findIndex((group) => group.name === chosen.group);
    drawMap(canvas, grid, image, { row, column: columnOfSpan(grid, chosen.span), cursor });
    axis.show(grid.beginUs, endUs(grid), canvas.clientWidth);
    [...names.children].forEach((button, at) => button.setAttribute("aria-pressed", String(at === row)));
  }

  function cellAt(event: MouseEvent): Cell | null {
    if (!grid) return null;
    const box = canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * grid.columns);
    const row = Math.floor(((event.clientY - box.top) / box.height) * grid.groups.length);
    return row in grid.groups && column >= 0 && column < grid.columns ? { row, column } : null;
  }

  function open(cell: Cell | null): void {
    hideTooltip();
    const group = cell && grid?.groups[cell.row];
    if (!grid || !cell || !group || group.name === SHARED) return;
    actions.choose({ group: group.name, span: spanOfColumn(grid, cell.column) });
  }

  function move(rows: number, columns: number): void {
    if (!grid) return;
    const within = (value: number, count: number): number => Math.min(Math.max(value, 0), count - 1);
    const from = cursor ?? { row: 0, column: grid.columns - 1 };
    cursor = cursor
      ? {
          row: within(from.row + rows, grid.groups.length),
          column: within(from.column + columns, grid.columns),
        }
      : from;
    draw();
    actions.announce(cellText(grid, cursor).replaceAll("\n", ", "));
  }

  const keys: Record<string, () => void> = {
    ArrowLeft: () => move(0, -1),
    ArrowRight: () => move(0, 1),
    ArrowUp: () => move(-1, 0),
    ArrowDown: () => move(1, 0),
    PageUp: () => move(0, -24),
    PageDown: () => move(0, 24),
    Home: () => move(0, -Infinity),
    End: () => move(0, Infinity),
    Enter: () => open(cursor),
    " ": () => open(cursor),
    Escape: () => actions.leave(),
  };
  canvas.addEventListener("keydown", (event) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  canvas.addEventListener("blur", () => {
    cursor = null;
    draw();
  });
  canvas.addEventListener("click", (event) => open(cellAt(event)));
  canvas.addEventListener("pointermove", (event) => {
    const cell = cellAt(event);
    if (cell && grid) showTooltip(cellText(grid, cell), event.clientX, event.clientY);
    else hideTooltip();
  });
  canvas.addEventListener("pointerleave", hideTooltip);

  return {
    element: place,
    show(answer) {
      grid = mapGrid(answer);
      cursor = null;
      frame.style.setProperty("--rows", String(grid.groups.length));
      names.replaceChildren(
        ...grid.groups.map((group) =>
          nameButton(group, () => actions.choose({ group: group.name, span: null })),
        ),
      );
      rates.replaceChildren(...grid.groups.map(rateOf));
      canvas.setAttribute("aria-label", described(grid));
      paint();
    },
    arrange(wanted, now) {
      const isOther = wanted !== heat;
      [heat, chosen] = [wanted, now];
      if (isOther) paint();
      else draw();
    },
    draw: paint,
  };
}

function nameButton(group: FleetGroup, choose: () => void): HTMLElement {
  const told = `${group.name}: ${many(group.episodes, "episode")} on ${many(group.affected, "host")} of ${many(group.hosts, "host")}`;
  return element(
    "button",
    {
      type: "button",
      title: told,
      "aria-label": told,
      "aria-pressed": "false",
      disabled: group.name === SHARED,
      "data-group": group.name,
      onclick: choose,
    },
    group.name,
  );
}

function rateOf(group: FleetGroup): HTMLElement {
  return element(
    "span",
    { title: `${many(group.affected, "host")} of ${many(group.hosts, "host")} affected` },
    element("b", {}, rateText(group.episodes, group.host_hours)),
    element("span", { class: "quiet" }, ` ${group.affected} / ${group.hosts}`),
  );
}

function described(grid: MapGrid): string {
  return `Map of ${many(grid.groups.length, "group")} over time. Arrow keys move, Enter lists the events of a cell.`;
}

function legend(grid: MapGrid, heat: Heat): HTMLElement[] {
  const most = strongest(grid, heat);
  const bar = element("span", { class: "swatch" });
  bar.style.background = `linear-gradient(to right, ${heatStops(theme()).map(cssColour).join(", ")})`;
  const unit = heat === "rate" ? "episodes per 1,000 host-hours" : "of the hosts affected";
  const row = (...parts: (Node | string)[]): HTMLElement =>
    element("span", { class: "legend-row" }, ...parts);
  return [
    row(bar, most > 0 ? `0 to ${heatText(most, heat)} ${unit}` : `no episode in this range`),
    row(element("span", { class: "swatch hatched" }), "not recorded, or not known"),
    row(element("span", { class: "quiet" }, "right: per 1,000 host-hours, hosts affected / hosts")),
  ];
}
