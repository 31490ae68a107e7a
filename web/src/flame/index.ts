// The flame graph: of a selection, or of its difference to a baseline.

import { failureOf } from "../api/failure";
import type { Flame } from "../api/types";
import { element } from "../parts/element";
import { ancestors } from "./boxes";
import { Breadcrumb } from "./breadcrumb";
import { detailsOf, sentenceOf } from "./details";
import "./flame.css";
import { Graph } from "./graph";
import { legend } from "./legend";
import { Found } from "./found";
import { countOf, isSameMark, litByLabels, litByNames, type Lit, type Names } from "./lit";
import { matchRegexp, matchText, SearchError } from "./matching";
import { nodeAt, pathOf } from "./path";
import { prepare, type Shown } from "./shown";
import { Tooltip } from "./tooltip";
import { TopTable } from "./top_table";
import { emptyText, foundText, KEYS, summary } from "./words";

export interface FlameOptions {
  onZoom(path: string): void;
  onMark(names: Names | null): void;
  onFind(): void; // the key for a search was pressed
}

export interface FlameLook {
  readonly inverted: boolean;
  readonly icicle: boolean;
  readonly search: string;
  readonly regexp: boolean;
  readonly zoom: string;
  readonly mark?: Names | null; // comes before what is searched
}

export interface FlameGraph {
  show(flame: Flame, how: FlameLook): void;
  bringIntoSight(): void; // the widest of the frames that stand out
  loading(): void;
  fail(error: unknown): void;
  destroy(): void;
}

export function flameGraph(place: HTMLElement, options: FlameOptions): FlameGraph {
  return new Flames(place, options);
}

class Flames implements FlameGraph {
  private readonly graph = new Graph({
    zoom: (node) => this.zoomTo(node),
    back: () => this.zoomTo(this.zooms.pop() ?? this.parentOfZoom(), false),
    reset: () => this.reset(),
    focus: (node) => this.tell(node),
    hover: (node, x, y) => this.hover(node, x, y),
    search: () => this.options.onFind(),
  });
  private readonly way = new Breadcrumb((node) => this.zoomTo(node));
  private readonly found = new Found(() => this.options.onMark(null));
  private readonly tooltip = new Tooltip();
  private readonly top = new TopTable((name) => this.options.onMark({ process: "", function: name }));
  private readonly topButton = element(
    "button",
    { type: "button", "aria-pressed": "false", onclick: () => this.toggleTop() },
    "Top functions",
  );
  private readonly colours = element("div", { class: "flame-colours" });
  private readonly message = element("div", { class: "flame-message", role: "status", hidden: true });
  private readonly told = element("p", { class: "flame-told", "aria-live": "polite" }, KEYS);
  private readonly section: HTMLElement;
  private shown: Shown | null = null;
  private look: FlameLook | null = null;
  private zooms: number[] = []; // before the one that is seen
  private hovered = { node: -1, details: { name: "", rows: [] } as ReturnType<typeof detailsOf> };
  private matches: Lit | null = null;
  private wrong = ""; // what is wrong with the search
  private lit: Lit | null = null;
  private searches = 0; // begun; only the last counts

  constructor(
    place: HTMLElement,
    private readonly options: FlameOptions,
  ) {
    const { graph, top } = this;
    this.section = element(
      "section",
      { class: "flame", "aria-label": "Flame graph", "data-highlighted": 0 },
      element("div", { class: "flame-head" }, this.way.place, this.found.place, this.topButton),
      this.colours,
      this.message,
      element("div", { class: "flame-body" }, graph.scroller, top.place),
      this.told,
      this.tooltip.place,
    );
    place.append(this.section);
  }

  show(flame: Flame, how: FlameLook): void {
    this.setState("");
    const isNew = this.shown?.flame !== flame;
    if (isNew) this.take(flame);
    const { shown, look } = this;
    if (!shown) return;
    if (!flame.samples && !flame.baseline?.samples) return this.setState("is-empty", ...emptyText(flame));
    const zoom = nodeAt(shown.tree, how.zoom);
    this.graph.show(shown, zoom, how.icicle);
    this.way.show(shown.tree, zoom);
    this.top.show(shown.tree, this.isTopShown);
    this.look = how;
    const isOther = look?.search !== how.search || look.regexp !== how.regexp;
    if (isOther || isNew) void this.findAgain();
    else if (!isSameMark(look?.mark, how.mark)) this.lightUp();
  }

  private take(flame: Flame): void {
    this.shown = prepare(flame);
    this.zooms = [];
    this.hovered.node = -1;
    this.colours.replaceChildren(legend(this.shown.largest));
    this.told.textContent = KEYS;
    this.section.dataset.flameNodes = String(this.shown.tree.count);
    this.graph.canvas.setAttribute("aria-label", summary(flame));
  }

  bringIntoSight(): void {
    const { shown, lit } = this;
    if (!shown || !lit || lit.widest < 0) return;
    const way = ancestors(shown.tree, lit.widest);
    const zoom = this.graph.widestZoom(lit.widest);
    if (way.indexOf(this.graph.zoom) < way.indexOf(zoom)) this.zoomTo(zoom);
    this.graph.scrollToNode(lit.widest);
    this.graph.scroller.scrollIntoView({ block: "nearest" });
  }

  loading(): void {
    this.section.setAttribute("aria-busy", "true");
    if (!this.shown) this.setState("is-loading", "The flame graph is being made …");
  }

  fail(error: unknown): void {
    const failure = failureOf(error);
    this.setState("is-error", failure.what, failure.hint);
  }

  destroy(): void {
    this.searches++;
    this.graph.destroy();
    this.section.remove();
  }

  private setState(state: string, ...lines: string[]): void {
    this.section.setAttribute("aria-busy", String(state === "is-loading"));
    this.section.className = `flame ${state}`.trim();
    this.message.hidden = !state;
    this.message.replaceChildren(...lines.filter(Boolean).map((line) => element("p", {}, line)));
  }

  private zoomTo(node: number, isRemembered = true): void {
    const { shown, look } = this;
    if (!shown || !look || node === this.graph.zoom) return;
    if (isRemembered) this.zooms.push(this.graph.zoom);
    this.tooltip.hide();
    const zoom = pathOf(shown.tree, node);
    this.look = { ...look, zoom };
    this.graph.show(shown, node, look.icicle);
    this.way.show(shown.tree, node);
    this.options.onZoom(zoom);
  }

  private parentOfZoom(): number {
    return this.shown?.tree.parent[this.graph.zoom] ?? 0;
  }

  private reset(): void {
    if (this.look?.mark) return this.options.onMark(null);
    this.zoomTo(0);
  }

  private async findAgain(): Promise<void> {
    const { shown, look } = this;
    const search = ++this.searches;
    this.matches = null;
    this.wrong = "";
    if (!shown || !look) return;
    this.lightUp(); // a mark does not wait for a search
    try {
      const { labels } = shown.tree;
      const { search: text, regexp } = look;
      const matches = !text ? null : regexp ? await matchRegexp(labels, text) : matchText(labels, text);
      if (search !== this.searches) return;
      this.matches = matches && litByLabels(shown.tree, matches);
    } catch (error) {
      if (!(error instanceof SearchError)) throw error;
      if (search === this.searches) this.wrong = error.message;
    }
    if (search === this.searches) this.lightUp();
  }

  /** What the culprit table points at comes before what was searched. */
  private lightUp(): void {
    const { shown, look } = this;
    if (!shown) return;
    const mark = look?.mark ?? null;
    const lit = mark ? litByNames(shown.tree, mark) : this.matches;
    this.lit = lit;
    this.graph.light(lit?.nodes ?? null);
    this.section.dataset.highlighted = String(lit ? countOf(lit) : 0);
    if (mark) this.found.tellMark(mark, foundText(lit, shown.tree));
    else this.found.tell(this.wrong || foundText(lit, shown.tree), this.wrong !== "");
  }

  private tell(node: number): void {
    if (this.shown) this.told.textContent = sentenceOf(this.shown.tree, this.shown.wholes, node);
  }

  private hover(node: number | null, x: number, y: number): void {
    if (node === null || !this.shown) return this.tooltip.hide();
    const { tree, wholes } = this.shown;
    if (node !== this.hovered.node) this.hovered = { node, details: detailsOf(tree, wholes, node) };
    this.tooltip.show(this.hovered.details, x, y);
  }

  private get isTopShown(): boolean {
    return this.topButton.getAttribute("aria-pressed") === "true";
  }

  private toggleTop(): void {
    const isShown = !this.isTopShown;
    this.topButton.setAttribute("aria-pressed", String(isShown));
    this.top.show(this.shown?.tree ?? null, isShown);
  }
}
