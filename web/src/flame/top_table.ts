// The functions with the most samples as a table: for screen readers, small screens, and whoever likes lists.

import { element } from "../parts/element";
import { percent, points, wholesOf, type Wholes } from "./shares";
import { topFunctions, type TopFunction } from "./top_functions";
import type { Tree } from "./tree";

const MOST = 100;
type Order = "own" | "total";

export class TopTable {
  readonly place = element("div", {
    class: "flame-top",
    tabindex: 0,
    role: "region",
    "aria-label": "Top functions",
    hidden: true,
  });
  private tree: Tree | null = null;
  private order: Order = "own";

  constructor(private readonly onChoose: (name: string) => void) {}

  /** Counted only while it is seen. */
  show(tree: Tree | null, isShown: boolean): void {
    const isNew = tree !== this.tree;
    this.tree = tree;
    if (this.place.hidden === !isShown && !isNew) return;
    this.place.hidden = !isShown;
    if (isShown && tree) this.fill(tree);
  }

  private fill(tree: Tree): void {
    const wholes = wholesOf(tree);
    const rows = topFunctions(tree, this.order, MOST).map((row) => this.row(tree, wholes, row));
    const heads = [
      element("th", { scope: "col" }, "Function"),
      this.head("own", "In itself"),
      this.head("total", "With what it calls"),
      tree.baseline && element("th", { scope: "col", class: "is-number" }, "Change"),
    ];
    this.place.replaceChildren(
      element(
        "table",
        {},
        element(
          "caption",
          {},
          `Functions with the most samples${rows.length === MOST ? `, the first ${MOST}` : ""}`,
        ),
        element("thead", {}, element("tr", {}, ...heads)),
        element("tbody", {}, ...rows),
      ),
    );
  }

  private head(order: Order, name: string): HTMLElement {
    const sort = (): void => {
      this.order = order;
      if (this.tree) this.fill(this.tree);
      this.place.querySelector<HTMLElement>(`[data-order=${order}]`)?.focus();
    };
    const isSorted = order === this.order;
    return element(
      "th",
      { scope: "col", class: "is-number", "aria-sort": isSorted ? "descending" : "none" },
      element(
        "button",
        { type: "button", class: "flame-link", "data-order": order, onclick: sort },
        `${name}${isSorted ? " ▾" : ""}`,
      ),
    );
  }

  private row(tree: Tree, wholes: Wholes, row: TopFunction): HTMLElement {
    const label = tree.labels[row.label]!;
    const name = label.name || "[unknown]";
    const here = row.total / (wholes.here || 1);
    const before = tree.baseline ? row.baselineTotal / (wholes.baseline || 1) : 0;
    const choose = (): void => this.onChoose(label.name);
    return element(
      "tr",
      {},
      element(
        "th",
        { scope: "row" },
        element(
          "button",
          { type: "button", class: "flame-link", title: `Show ${name} in the graph`, onclick: choose },
          name,
        ),
        element("small", {}, label.module || label.kind),
      ),
      element("td", { class: "is-number" }, percent(row.own / (wholes.here || 1))),
      element("td", { class: "is-number" }, percent(here)),
      tree.baseline && element("td", { class: "is-number" }, points(here - before)),
    );
  }
}
