// The flame graph as a file, and the link that shows the same again.

import type { Page } from "../../page";
import { element } from "../../parts/element";
import { dropdown } from "./dropdown";
import { flameQuestion } from "./questions";

const FORMATS: [string, string][] = [
  ["svg", "SVG, with search and zoom"],
  ["html", "HTML, one file"],
  ["folded", "Folded stacks"],
  ["speedscope.json", "speedscope"],
  ["pb.gz", "pprof"],
];

export function exportMenu(page: Page): HTMLElement {
  const drop = dropdown("Export", page.signal);
  const links = FORMATS.map(([format, text]) => [format, element("a", { download: true }, text)] as const);
  drop.panel.append(element("ul", { class: "menu" }, ...links.map(([, link]) => element("li", {}, link))));
  // Addresses change with every click: the links are made when they can be seen.
  drop.root.addEventListener("toggle", () => {
    for (const [format, link] of links)
      link.href = page.ask.exportUrl({ ...flameQuestion(page.address), format });
  });
  return element("div", { class: "group" }, !page.ask.oneFile && drop.root, copyLink(page));
}

function copyLink(page: Page): HTMLElement {
  const button = element("button", { type: "button", onclick: () => void copy() }, "Copy link");
  const field = element("input", {
    class: "link",
    readonly: true,
    hidden: true,
    "aria-label": "Link to this view",
  });

  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(location.href);
      button.textContent = "Copied";
      page.announce("The link is copied.");
      setTimeout(() => (button.textContent = "Copy link"), 2000);
    } catch {
      // Without TLS and off loopback browsers give no clipboard: then it is there to be copied by hand.
      field.hidden = false;
      field.value = location.href;
      field.select();
    }
  }
  return element("span", { class: "group" }, button, field);
}
