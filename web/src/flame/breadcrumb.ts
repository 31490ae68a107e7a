// The way from the root to the zoomed frame; every step leads back there.

import { element } from "../parts/element";
import { ancestors } from "./boxes";
import { nameOf, type Tree } from "./tree";

const MOST = 6; // steps that are written out

export class Breadcrumb {
  readonly place = element("nav", { class: "flame-way", "aria-label": "Zoomed frame" });

  constructor(private readonly onStep: (node: number) => void) {}

  show(tree: Tree, zoom: number): void {
    this.place.replaceChildren(
      element(
        "ol",
        {},
        ...shortened(ancestors(tree, zoom)).map((node) => this.step(tree, node, node === zoom)),
      ),
    );
  }

  private step(tree: Tree, node: number | null, isLast: boolean): HTMLLIElement {
    if (node === null) return element("li", { class: "flame-way-gap" }, "…");
    const name = nameOf(tree, node);
    if (isLast) return element("li", { "aria-current": "true", title: name }, name);
    const go = (): void => this.onStep(node);
    return element(
      "li",
      {},
      element("button", { type: "button", class: "flame-link", title: name, onclick: go }, name),
    );
  }
}

/** The root, the last steps, and null for what is left out between them. */
export function shortened(way: readonly number[]): (number | null)[] {
  return way.length <= MOST ? [...way] : [way[0]!, null, ...way.slice(-(MOST - 2))];
}
