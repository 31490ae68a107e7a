// What a tired person has to know first: what concentrates, and who is next.

import type { FleetConcentration, FleetNext, FleetWhere } from "../../api/types";
import { element } from "../../parts/element";
import { intervalText, labelText, many, timesText, valueText } from "./numbers";
import { isBeyond, whenText } from "./next_list";

const SOON_S = 24 * 3600;

export interface FleetVerdict {
  readonly element: HTMLElement;
  where(answer: FleetWhere | null): void; // null: it is not known
  next(answer: FleetNext | null): void;
  asking(): void;
}

export function fleetVerdict(): FleetVerdict {
  const [concentrates, soonest] = [line("where"), line("next")];
  return {
    element: element(
      "section",
      { class: "fleet-verdict", "aria-label": "Verdict", role: "status" },
      concentrates.element,
      soonest.element,
    ),
    where: (answer) => concentrates.say(...(answer ? whereWords(answer) : NOT_KNOWN)),
    next: (answer) => soonest.say(...(answer ? nextWords(answer) : NOT_KNOWN)),
    asking() {
      concentrates.say("loading", "Where", "is being asked");
      soonest.say("loading", "Next", "is being asked");
    },
  };
}

type Level = "trouble" | "healthy" | "unknown" | "loading";
const SIGNS: Record<Level, string> = { trouble: "▲", healthy: "✓", unknown: "?", loading: "…" };

const NOT_KNOWN: [Level, string, string] = ["unknown", "Not known", "below is why"];

function line(name: string): { element: HTMLElement; say(level: Level, title: string, text: string): void } {
  const place = element("p", { "data-line": name });
  return {
    element: place,
    say(level, title, text) {
      place.dataset.level = level;
      place.replaceChildren(
        element("strong", {}, element("span", { "aria-hidden": "true" }, `${SIGNS[level]} `), title),
        ` ${text}`,
      );
    },
  };
}

export function whereWords(answer: FleetWhere): [Level, string, string] {
  const found = answer.concentrations.filter((row) => row.standing === "concentrates");
  const { total } = answer;
  const kinds = answer.kinds.join(", ");
  const sum = `${many(total.episodes, "episode")} of ${kinds} on ${total.affected} of ${many(total.hosts, "host")}`;
  if (total.episodes === 0) return ["healthy", "None", `no ${kinds} in this range`];
  if (found.length === 0) return ["unknown", "Nowhere in particular", `${sum}; no label stands out`];
  return ["trouble", "Concentrates", `in ${found.slice(0, 2).map(valueWords).join("; and in ")}. ${sum}.`];
}

function valueWords(row: FleetConcentration): string {
  const apart = row.cannot_tell_apart_from.length
    ? `, or ${row.cannot_tell_apart_from.map(labelText).join(", ")}`
    : "";
  return `${valueText(row.label, row.value)}${apart}: ${timesText(row.rate_ratio)} (${intervalText(row.interval)}) the rate of others`;
}

export function nextWords(answer: FleetNext): [Level, string, string] {
  const coming = answer.forecasts.filter((one) => one.seconds !== null && !isBeyond(one));
  const beyond =
    answer.beyond > 0 ? `${many(answer.beyond, "host is", "hosts are")} beyond the wall now` : "";
  const soon = coming.filter((one) => one.seconds! < SOON_S).length;
  const level = beyond || soon ? "trouble" : "unknown";
  const [first] = coming;
  if (first) {
    const more = soon > 1 ? `${many(soon, "host")} within a day` : "";
    const said = [`${first.host}, ${whenText(first)}`, more, beyond].filter(Boolean);
    return [level, "Next", said.join("; ")];
  }
  if (beyond) return [level, "Beyond", beyond];
  return ["healthy", "Nobody is next", `none of ${many(answer.hosts, "host")} nears the wall`];
}
