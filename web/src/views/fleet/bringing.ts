// A moment of a host of the fleet: its recording is brought here first, if the host has sent it.

import { isAbort } from "../../api/failure";
import type { FleetMoment } from "../../api/types";
import type { Page, View } from "../../page";
import { element } from "../../parts/element";
import { emptyState, failureState, loadingState } from "../../parts/states";
import { HOUR_US } from "../../parts/time_text";

export const HOSTS_CHANGED = "hosts-changed"; // a host is in the store that was not before
const LONGEST_US = 2 * HOUR_US;

/** The view of a moment, of hosts whose recordings are elsewhere as of those that are here. */
export function broughtFirst(view: View): View {
  return (place, page) => void bring(place, page, view);
}

async function bring(place: HTMLElement, page: Page, view: View): Promise<void> {
  const { host, begin, end } = page.address;
  if (begin === 0 || end - begin > LONGEST_US) return view(place, page);
  place.replaceChildren(loadingState(`Looking for what ${host} recorded in these seconds`));
  try {
    const found = await page.ask.fleet.moment({ host, begin_us: begin, end_us: end }, page.signal);
    if (page.signal.aborted) return;
    place.replaceChildren();
    if (found.whereabouts === "brought") dispatchEvent(new Event(HOSTS_CHANGED));
    if (found.whereabouts === "not shipped")
      place.append(notShipped(found, host, () => void bring(place, page, view)));
    else view(place, page); // it says itself if there is nothing
  } catch (error) {
    if (isAbort(error) || page.signal.aborted) return;
    place.replaceChildren(failureState(error, () => void bring(place, page, view)));
  }
}

function notShipped(found: FleetMoment, host: string, again: () => void): HTMLElement {
  const state = emptyState(
    "Not sent by its host",
    `${host} keeps the recording of these seconds. Ask for it, and it comes within minutes, if the host still has it:`,
    found.command,
  );
  state.append(element("button", { type: "button", onclick: again }, "Look again"));
  return state;
}
