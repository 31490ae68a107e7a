// The body of a table that begins with a few rows and grows on demand.

import { element } from "../../parts/element";
import { many } from "./numbers";

export interface FirstRows {
  readonly body: HTMLElement;
  readonly button: HTMLElement | null; // null: all are there
}

/** `one` and `more`: what the rest is called. */
export function firstRows<Row>(
  first: readonly Row[],
  rest: readonly Row[],
  line: (row: Row) => HTMLElement,
  one: string,
  more = `${one}s`,
): FirstRows {
  const body = element("tbody", {}, ...first.map(line));
  if (rest.length === 0) return { body, button: null };
  const button = element(
    "button",
    { type: "button", onclick: () => grow() },
    many(rest.length, `more ${one}`, `more ${more}`),
  );
  function grow(): void {
    const lines = rest.map(line);
    body.append(...lines);
    button.remove();
    lines[0]!.querySelector<HTMLElement>("button, a")?.focus(); // the button that had the focus is gone
  }
  return { body, button };
}
