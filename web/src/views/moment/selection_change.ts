// What a new selection changes in the address.

import type { Address } from "../../address";
import type { Side } from "../../heatmap/brush";
import type { Span } from "../../heatmap/scope_grid";
import { shownRange } from "./questions";
import { rangeHolding } from "./spans";

/** The range follows a selection that leaves it; the first A is compared with quiet seconds. */
export function selectionChange(address: Address, side: Side, span: Span): Partial<Address> {
  const chosen: [number, number] = [Math.round(span[0]), Math.round(span[1])];
  const [begin, end] = rangeHolding(shownRange(address), chosen);
  if (side === "b") return { b: chosen, begin, end };
  const b = address.a === null ? (address.b ?? "quiet") : address.b;
  return { a: chosen, b, begin, end };
}
