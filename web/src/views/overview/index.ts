// The overview: what happened in a stretch of time, on one shared time axis.

import type { RecordedHost } from "../../api/types";
import { failureState, loadingState, unknownHost } from "../../parts/states";
import { isAbort } from "../../api/failure";
import type { View } from "../../page";
import { startOverview } from "./timeline";

export const overview: View = (place, page) => {
  async function start(): Promise<void> {
    place.replaceChildren(loadingState("Loading the overview"));
    try {
      const { hosts } = await page.ask.hosts(page.signal);
      const host = hosts.find((one: RecordedHost) => one.name === page.address.host);
      place.replaceChildren();
      if (host) startOverview(place, page, host);
      else place.replaceChildren(unknownHost(page.address.host));
    } catch (error) {
      if (!isAbort(error)) place.replaceChildren(failureState(error, () => void start()));
    }
  }
  void start();
};
