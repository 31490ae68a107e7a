// Puts the parts of the fleet together: the verdict, the map, where, who is next, and more on demand.

import type { Address } from "../../address";
import type { FleetQuestion } from "../../api/ask_fleet";
import type { Fleet } from "../../api/types";
import type { Page } from "../../page";
import { element } from "../../parts/element";
import { onTheme } from "../../parts/theme";
import { rangeText } from "../../parts/time_text";
import { hideTooltip } from "../../parts/tooltip";
import { askedPart } from "./asked_part";
import { eventList } from "./event_list";
import { mapPanel } from "./map_panel";
import type { Chosen } from "./map_panel";
import { moreParts } from "./more_parts";
import { nextList } from "./next_list";
import { labelText, valueText } from "./numbers";
import { rangeOf } from "./range";
import { fleetToolbar, DEFAULT_KIND } from "./toolbar";
import { fleetVerdict } from "./verdict";
import { note, whereTable } from "./where_table";

const MOST_COLUMNS = 240;
const COLUMN_PIXELS = 4;

export function showFleet(place: HTMLElement, page: Page, fleet: Fleet): void {
  const chosen = (): Chosen => ({ group: page.address.group, span: page.address.a });
  const label = (): string => page.address.label || defaultLabel(fleet);
  const range = (): [number, number] => rangeOf(fleet, page.address.begin, page.address.end);

  function question(): FleetQuestion {
    const [begin_us, end_us] = range();
    return { begin_us, end_us, kind: page.address.kinds.length ? page.address.kinds : [DEFAULT_KIND] };
  }

  const tools = fleetToolbar(page, fleet);
  const verdict = fleetVerdict();
  const map = mapPanel({
    choose: (now) => page.go({ label: label(), group: now.group, a: now.span }),
    leave: () => page.go({ group: "", a: null }),
    announce: page.announce,
  });
  const mapPart = askedPart(page, {
    title: "Groups over time",
    name: "fleet-map-part",
    waiting: "Reading the map",
    ask: (signal) => page.ask.fleet.map({ ...question(), label: label(), columns: columns(place) }, signal),
    show: (answer) => {
      queueMicrotask(() => map.show(answer)); // when it has a size
      return [map.element];
    },
  });
  const events = askedPart(page, {
    title: "Events",
    name: "fleet-events",
    waiting: "Reading the events",
    ask: (signal) => page.ask.fleet.events(eventsQuestion(), signal),
    show: (answer) => [eventList(answer, page.address)],
  });
  const where = askedPart(page, {
    title: "Where it concentrates",
    name: "fleet-where",
    waiting: "Comparing all labels",
    ask: (signal) => page.ask.fleet.where(question(), signal),
    heard: verdict.where,
    show: (answer) =>
      whereTable(answer, {
        choose: (wanted, value) => {
          page.go({ label: wanted, group: value, a: null });
          map.element.scrollIntoView({ block: "nearest" });
        },
        isChosen: (wanted, value) => wanted === label() && value === page.address.group,
      }),
  });
  const next = askedPart(page, {
    title: "Who is next",
    name: "fleet-next",
    waiting: "Following the growth of every host",
    ask: (signal) => page.ask.fleet.next(question(), signal),
    heard: verdict.next,
    show: nextList,
  });
  const more = moreParts(page, fleet, question);

  function eventsQuestion() {
    const [begin_us, end_us] = page.address.a ?? range();
    return { ...question(), begin_us, end_us, label: label(), group: page.address.group };
  }

  /** What is listed is the answer to the cell or the row that is chosen. */
  function followEvents(): void {
    const { group, span } = chosen();
    events.element.hidden = !group && !span;
    if (events.element.hidden) return;
    const when = span ? `, ${rangeText(...span)}` : "";
    events.element.querySelector("h2")!.textContent =
      `Events: ${group ? valueText(label(), group) : "all hosts"}${when}`;
    events.load();
  }

  function followChoice(): void {
    map.arrange(page.address.heat, chosen());
    for (const button of where.element.querySelectorAll<HTMLElement>("button.value")) {
      const isChosen = button.dataset.label === label() && button.dataset.value === page.address.group;
      button.setAttribute("aria-pressed", String(isChosen));
    }
  }

  function follow(now: Address, before: Address | null): void {
    const differ = (...names: (keyof Address)[]): boolean =>
      !before || names.some((name) => JSON.stringify(now[name]) !== JSON.stringify(before[name]));
    tools.show(now, range(), label());
    mapPart.element.querySelector("h2")!.textContent = `By ${labelText(label())}, over time`;
    if (differ("begin", "end", "kinds")) {
      verdict.asking();
      where.load();
      next.load();
    }
    if (differ("begin", "end", "kinds", "label")) mapPart.load();
    if (differ("begin", "end", "kinds", "label", "group", "a")) followEvents();
    followChoice();
    more.follow(now);
  }

  place.replaceChildren(
    element(
      "div",
      { class: "fleet" },
      tools.element,
      note(fleet.trouble && `The place does not answer: ${fleet.trouble}. What is shown was read before.`),
      verdict.element,
      mapPart.element,
      events.element,
      element("div", { class: "fleet-columns" }, where.element, next.element),
      more.element,
    ),
  );
  page.onChange(follow);
  onTheme(() => map.draw(), page.signal);
  const watcher = new ResizeObserver(() => map.draw());
  watcher.observe(map.element);
  page.signal.addEventListener("abort", () => {
    watcher.disconnect();
    hideTooltip();
  });
  follow(page.address, null);
}

/** The zone, which is what people suspect first; else what has the most values of few. */
function defaultLabel(fleet: Fleet): string {
  const names = fleet.labels.map((label) => label.name);
  if (names.includes("labels/zone")) return "labels/zone";
  const few = fleet.labels.filter((label) => label.values > 1 && label.values <= 40);
  return few.sort((one, other) => other.values - one.values)[0]?.name ?? names[0] ?? "labels/zone";
}

function columns(place: HTMLElement): number {
  return Math.min(MOST_COLUMNS, Math.max(24, Math.floor(place.clientWidth / COLUMN_PIXELS)));
}
