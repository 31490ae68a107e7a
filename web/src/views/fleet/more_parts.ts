// The questions that take seconds, one at a time: asked when their tab is opened.

import { PARTS } from "../../address";
import type { Address, Part } from "../../address";
import type { FleetQuestion } from "../../api/ask_fleet";
import type { Fleet } from "../../api/types";
import type { Page } from "../../page";
import { element } from "../../parts/element";
import { askedPart } from "./asked_part";
import type { AskedPart } from "./asked_part";
import { culpritTable } from "./culprit_part";
import { driftTable } from "./drift_part";
import { changeForm, fixedPicture, parseChange } from "./fixed_part";
import { jobsPicture } from "./jobs_part";

const NAMES: Record<Exclude<Part, "">, string> = {
  culprit: "What ran before them",
  drift: "What differs",
  jobs: "Jobs that died of it",
  fixed: "Did a roll-out help",
};

export interface MoreParts {
  readonly element: HTMLElement;
  follow(now: Address): void; // the tab of the address, asked anew where its question is another
}

export function moreParts(page: Page, fleet: Fleet, question: () => FleetQuestion): MoreParts {
  const tabs = PARTS.filter((part) => part !== "").map((part) =>
    element(
      "button",
      {
        type: "button",
        "data-part": part,
        "aria-expanded": "false",
        "aria-controls": "fleet-more",
        onclick: () => page.go({ part: page.address.part === part ? "" : part }, "replace"),
      },
      NAMES[part],
    ),
  );
  const place = element("div", { id: "fleet-more" });
  let asked = "";

  function opened(part: Part): AskedPart | null {
    const common = { name: `fleet-${part}`, waiting: "Asking the fleet: this may take seconds" };
    const { ask } = page;
    if (part === "culprit") {
      return askedPart(page, {
        ...common,
        title: NAMES.culprit,
        ask: (signal) => ask.fleet.culprit(question(), signal),
        show: culpritTable,
      });
    }
    if (part === "drift") {
      return askedPart(page, {
        ...common,
        title: NAMES.drift,
        ask: (signal) => ask.fleet.drift(question(), signal),
        show: driftTable,
      });
    }
    if (part === "jobs") {
      return askedPart(page, {
        ...common,
        title: NAMES.jobs,
        ask: (signal) => ask.fleet.jobs(question(), signal),
        show: (answer) => jobsPicture(answer, page.address),
      });
    }
    const change = parseChange(page.address.change);
    if (!change) return null;
    return askedPart(page, {
      ...common,
      title: `${NAMES.fixed}: ${page.address.change}`,
      ask: (signal) => ask.fleet.fixed({ ...question(), ...change }, signal),
      show: fixedPicture,
    });
  }

  return {
    element: element(
      "div",
      { class: "fleet-more" },
      element("div", { class: "group", role: "group", "aria-label": "More questions" }, ...tabs),
      place,
    ),
    follow(now) {
      for (const tab of tabs) tab.setAttribute("aria-expanded", String(tab.dataset.part === now.part));
      const wanted = now.part && JSON.stringify([now.part, now.part === "fixed" && now.change, question()]);
      if (wanted === asked) return;
      asked = wanted;
      if (!now.part) return place.replaceChildren();
      const part = opened(now.part);
      const form = now.part === "fixed" ? [changeForm(page, fleet)] : [];
      place.replaceChildren(...form, ...(part ? [part.element] : []));
      part?.load();
    },
  };
}
