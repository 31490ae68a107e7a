// The fleet: where events concentrate among many hosts, and who is next.

import { failureOf, isAbort } from "../../api/failure";
import type { View } from "../../page";
import { element } from "../../parts/element";
import { emptyState, failureState, loadingState } from "../../parts/states";
import { showFleet } from "./fleet_view";
import "./fleet.css";
import "./map.css";
import "./tables.css";

export const fleet: View = (place, page) => {
  async function start(): Promise<void> {
    place.replaceChildren(loadingState("Reading the tables of the fleet"));
    try {
      const found = await page.ask.fleet.fleet(page.signal);
      if (!page.signal.aborted) showFleet(place, page, found);
    } catch (error) {
      if (!isAbort(error) && !page.signal.aborted) place.replaceChildren(stateOf(error, () => void start()));
    }
  }
  void start();
};

/** What is missing, and the command that helps. */
function stateOf(error: unknown, again: () => void): HTMLElement {
  const failure = failureOf(error);
  if (failure.status === 404 && failure.slug === "nothing-recorded") {
    const state = emptyState(
      "Nothing is known of the fleet yet",
      `${failure.what}. Hosts send; this makes the tables:`,
      "necroscope fleet ingest --fleet PLACE",
    );
    state.append(element("button", { type: "button", onclick: again }, "Look again"));
    return state;
  }
  if (failure.status === 404 && failure.slug === "usage") {
    return emptyState(
      "No fleet is served here",
      "The server shows its own store alone. This shows a fleet as well:",
      "necroscope serve --fleet PLACE",
    );
  }
  return failureState(error, again);
}
