// Starts the page: theme, hosts, header, then the view that the address asks for.

import { DEFAULTS } from "./address";
import type { ViewName } from "./address";
import { serverAsk } from "./api/ask";
import { embeddedAsk } from "./api/embedded";
import type { Hosts } from "./api/types";
import { completeAddress } from "./default_range";
import { showPage } from "./page";
import type { Shown } from "./page";
import { element } from "./parts/element";
import { header } from "./parts/header";
import { emptyState, failureState, loadingState, SESSION_OPENED } from "./parts/states";
import { hideTooltip } from "./parts/tooltip";
import { startTheme } from "./parts/theme";
import { diagnosis } from "./views/diagnosis";
import { live } from "./views/live";
import { moment } from "./views/moment";
import { fleet } from "./views/fleet";
import { broughtFirst, HOSTS_CHANGED } from "./views/fleet/bringing";
import { overview } from "./views/overview";

const HOSTS_AGAIN_MS = 30_000;

const ask = embeddedAsk() ?? serverAsk();
const place = element("main", { id: "view", tabindex: -1 });
const speaker = element("div", { class: "for-readers", role: "status", "aria-live": "polite" });
let hosts: Hosts | null = null;
let shown: Shown | null = null;

const top = header(
  (host) => shown?.go({ ...DEFAULTS, view: viewFor(host), quantity: shown.address.quantity, host }),
  ask.oneFile,
);

/** The fleet is the view of all hosts; every other one is of a single host. */
function viewFor(host: string): ViewName {
  if (host === "") return "fleet";
  return shown && shown.address.view !== "fleet" ? shown.address.view : DEFAULTS.view;
}

function skipLink(): HTMLElement {
  const skip = element("a", { class: "skip button", href: "#view" }, "Skip to the view");
  skip.addEventListener("click", (event) => {
    event.preventDefault(); // behind the # stands the address
    place.focus();
  });
  return skip;
}

function begin(known: Hosts): void {
  shown = showPage({
    ask,
    place,
    views: { overview, moment: known.has_fleet ? broughtFirst(moment) : moment, diagnosis, live, fleet },
    first: known.has_fleet ? "fleet" : DEFAULTS.view,
    announce: (text) => (speaker.textContent = text),
    complete: (address) => completeAddress(address, (hosts ?? known).hosts, known.has_fleet),
    heard: (now) => {
      hideTooltip();
      top.show(now);
    },
  });
}

/** Hosts come and go while the page stands open. */
async function renewHosts(): Promise<void> {
  if (document.hidden) return;
  try {
    hosts = await ask.hosts();
    top.know(hosts);
  } catch {
    // the view that is shown says what is wrong
  }
}

async function start(): Promise<void> {
  place.replaceChildren(loadingState("Looking for recordings"));
  try {
    hosts = await ask.hosts();
  } catch (error) {
    place.replaceChildren(failureState(error, () => void start()));
    return;
  }
  if (hosts.hosts.length === 0 && !hosts.has_fleet) {
    place.replaceChildren(nothingRecorded());
    return;
  }
  top.know(hosts);
  begin(hosts);
  if (!ask.oneFile) setInterval(() => void renewHosts(), HOSTS_AGAIN_MS);
}

function nothingRecorded(): HTMLElement {
  const state = emptyState(
    "Nothing recorded yet",
    "The page shows what a recorder has stored. Start one, and come back in a few seconds:",
    "necroscope record",
  );
  state.append(element("button", { type: "button", onclick: () => void start() }, "Look again"));
  return state;
}

// A session that ran out in a view: all its parts are asked again, not only the one with the form.
addEventListener(SESSION_OPENED, (event) => {
  if (!shown) return;
  event.preventDefault();
  shown.restart();
});
addEventListener(HOSTS_CHANGED, () => void renewHosts());
startTheme();
document.getElementById("page")?.replaceChildren(skipLink(), top.element, place, speaker);
void start();
