// The view "moment": some seconds, who ran in them, and what was different from quiet ones.

import { inOneLine } from "../../api/failure";
import type { RecordedEvent } from "../../api/types";
import type { Page, View } from "../../page";
import { element } from "../../parts/element";
import { failureState } from "../../parts/states";
import { culpritTable } from "./culprit_table";
import { filters } from "./filters";
import { flamePanel } from "./flame_panel";
import { inTurn, type Step } from "./in_turn";
import { readMark } from "./mark";
import "./filters.css";
import "./scope.css";
import "./culprits.css";
import "./moment.css"; // the last: narrow screens change the others
import { culpritQuestion, eventsQuestion, flameQuestion, scopeQuestion, shownRange } from "./questions";
import { rangeBar } from "./range_bar";
import { ScopePanel } from "./scope_panel";
import { isWrongSearch } from "./search_box";
import { selectionBar } from "./selection_bar";

/** The bars first, as they are read and as Tab goes through them. */
export const moment: View = (place, page) => {
  const parts = layOut(place);
  const range = rangeBar(parts.range, page);
  const filter = filters(parts.filters, page);
  let events: readonly RecordedEvent[] = [];
  const scope = new ScopePanel(parts.scope, page, () => selection.side());
  const selection = selectionBar(parts.selection, page);
  const flame = flamePanel(parts.flame, page, filter.focusSearch);
  const culprits = culpritTable(parts.culprits, flame.mark);

  const follow = (): void => {
    const { address } = page;
    range.follow(address, events);
    filter.follow(address);
    scope.follow(address, events);
    selection.follow(address, events);
    flame.follow(address);
    culprits.follow(readMark(address.mark));
  };

  const eventStep: Step = {
    question: eventsQuestion,
    wait: () => undefined,
    async load(address, signal) {
      events = (await page.ask.events(eventsQuestion(address), signal)).events;
      follow();
    },
    fail: () => undefined, // the scope asks for the same time, and says what is wrong
  };
  const scopeStep: Step = {
    question: scopeQuestion,
    wait: () => scope.wait(),
    async load(address, signal) {
      const answer = await page.ask.scope(scopeQuestion(address), signal);
      filter.complain("");
      filter.offer(answer);
      scope.show(answer);
    },
    fail(error, again) {
      const isSearch = isWrongSearch(error, page.address);
      filter.complain(isSearch ? inOneLine(error) : "");
      scope.fail(isSearch ? null : failureState(error, again));
    },
  };
  const flameStep: Step = {
    question: flameQuestion,
    wait: flame.wait,
    async load(address, signal) {
      const answer = await page.ask.flame(flameQuestion(address), signal);
      flame.show(answer);
      scope.showBaseline(answer.baseline?.ranges ?? []);
    },
    fail: flame.fail,
  };
  const culpritStep: Step = {
    question: culpritQuestion,
    wait: culprits.wait,
    async load(address, signal) {
      const answer = await page.ask.culprit(culpritQuestion(address), signal);
      culprits.show(answer);
      culprits.follow(readMark(page.address.mark));
    },
    fail: culprits.fail,
  };

  const loadEvents = inTurn([eventStep], page.signal);
  const loadRest = inTurn([scopeStep, flameStep, culpritStep], page.signal);
  const heard = (): void => {
    loadEvents(page.address);
    loadRest(page.address);
    follow(); // after them: what is being loaded is not drawn once more
  };
  tellShownRange(page);
  page.onChange(heard);
  heard();
};

/** The address says what is seen, also where another view gave a range that is too long for the scope. */
function tellShownRange(page: Page): void {
  const [begin, end] = shownRange(page.address);
  page.go({ begin, end }, "replace");
}

function layOut(place: HTMLElement) {
  const parts = {
    range: element("div", { class: "toolbar", role: "group", "aria-label": "Range" }),
    filters: element("div", { role: "group", "aria-label": "Filters" }),
    scope: element("section", { class: "scope", "aria-label": "Scope" }),
    selection: element("div", { class: "toolbar", role: "group", "aria-label": "Selections A and B" }),
    flame: element("section", { class: "flame-panel", "aria-label": "Flame graph of the selection" }),
    culprits: element("div", { class: "culprit-body" }),
  };
  const heading = element("h2", {}, "What stands out");
  const aside = element("section", { class: "culprits", "aria-label": "Culprits" }, heading, parts.culprits);
  const under = element("div", { class: "moment-under" }, parts.flame, aside);
  place.append(
    element("div", { class: "moment" }, parts.range, parts.filters, parts.scope, parts.selection, under),
  );
  return parts;
}
