// The frame around the views: where one is, which host, dark or light.

import { hashOf, inView } from "../address";
import type { Address, ViewName } from "../address";
import type { Hosts } from "../api/types";
import { element } from "./element";
import { onTheme, theme, toggleTheme } from "./theme";
import { timeText } from "./time_text";

export interface Header {
  readonly element: HTMLElement;
  show(address: Address): void;
  know(hosts: Hosts): void;
}

const NAMES: Record<ViewName, string> = {
  overview: "Overview",
  moment: "Moment",
  diagnosis: "Diagnosis",
  live: "Live",
  fleet: "Fleet",
};
const ORDER: readonly ViewName[] = ["fleet", "overview", "moment", "diagnosis", "live"];

/** Without a server there is nothing live, and the fleet is there where one is served. */
export function header(onHost: (host: string) => void, oneFile: boolean): Header {
  const views = ORDER.filter((view) => !(oneFile && view === "live"));
  const links = new Map(views.map((view) => [view, element("a", { hidden: view === "fleet" }, NAMES[view])]));
  const select = element("select", { id: "host", onchange: () => onHost(select.value) });
  const button = element("button", { type: "button", onclick: toggleTheme });
  let shown = "";

  function nameButton(): void {
    button.textContent = theme() === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to the ${theme() === "dark" ? "light" : "dark"} colours`);
  }
  onTheme(nameButton, new AbortController().signal); // the header stays
  nameButton();

  return {
    element: element(
      "header",
      { class: "header" },
      element("h1", {}, "Necroscope"),
      element("nav", { "aria-label": "Views" }, ...links.values()),
      element("div", { class: "host" }, element("label", { for: "host" }, "Host"), select, button),
    ),
    show(address) {
      for (const [view, link] of links) {
        link.href = hashOf(view === address.view ? address : inView(address, view));
        if (view === address.view) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
      }
      select.value = shown = address.host;
      const about = address.view === "fleet" ? "all hosts" : address.host || "no host";
      document.title = `${NAMES[address.view]} · ${about} · Necroscope`;
    },
    know(hosts) {
      links.get("fleet")!.hidden = !hosts.has_fleet;
      const all = hosts.has_fleet ? [element("option", { value: "" }, "all hosts of the fleet")] : [];
      select.replaceChildren(...all, ...hosts.hosts.map((host) => option(host)));
      select.value = shown;
    },
  };
}

function option(host: Hosts["hosts"][number]): HTMLOptionElement {
  const until = host.is_live ? "recording now" : `until ${timeText(host.end_us).slice(0, 16)}Z`;
  return element("option", { value: host.name }, `${host.name} (${host.cores} cores, ${until})`);
}
