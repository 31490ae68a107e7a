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
};

/** Without a server there is nothing live. */
export function header(onHost: (host: string) => void, oneFile: boolean): Header {
  const views = (Object.keys(NAMES) as ViewName[]).filter((view) => !(oneFile && view === "live"));
  const links = new Map(views.map((view) => [view, element("a", {}, NAMES[view])]));
  const select = element("select", { id: "host", onchange: () => onHost(select.value) });
  const button = element("button", { type: "button", onclick: toggleTheme });

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
      select.value = address.host;
      document.title = `${NAMES[address.view]} · ${address.host || "no host"} · Necroscope`;
    },
    know(hosts) {
      const chosen = select.value;
      select.replaceChildren(...hosts.hosts.map((host) => option(host)));
      select.value = chosen;
    },
  };
}

function option(host: Hosts["hosts"][number]): HTMLOptionElement {
  const until = host.is_live ? "recording now" : `until ${timeText(host.end_us).slice(0, 16)}Z`;
  return element("option", { value: host.name }, `${host.name} (${host.cores} cores, ${until})`);
}
