// What the moment view asks of the server, from the address alone: a link asks the same.

import type { Address } from "../../address";
import type { EventsQuestion, FilterQuestion, FlameQuestion, ScopeQuestion } from "../../api/questions";
import type { Span } from "../../heatmap/scope_grid";
import { fitting } from "./spans";

const AROUND_US = 30 * 60 * 1_000_000; // so that "next event" finds some beyond the range
const EVENTS_STEP_US = 10 * 60 * 1_000_000; // panning by seconds asks nothing new

/** The range on the screen; a link or another view may give one that the scope cannot show. */
export function shownRange(address: Address): Span {
  return fitting([address.begin, address.end]);
}

/** What the flame graph and the culprit are of: A, or all that is shown. */
export function selectedSpan(address: Address): Span {
  return address.a ?? shownRange(address);
}

export function scopeQuestion(address: Address): ScopeQuestion {
  return { ...asked(address, shownRange(address)), ...searched(address), rows: address.rows };
}

export function flameQuestion(address: Address): FlameQuestion {
  const { by, inverted } = address;
  const search = address.onlyMatching ? searched(address) : {}; // else the graph marks what it finds by itself
  return { ...asked(address, selectedSpan(address)), ...search, by, inverted, against: against(address) };
}

/** Of the filters only the cores count: a share of some samples would be a share of nothing. */
export function culpritQuestion(address: Address): FilterQuestion {
  return { ...range(address, selectedSpan(address)), cpu: address.cpus };
}

export function eventsQuestion(address: Address): EventsQuestion {
  const [beginUs, endUs] = shownRange(address);
  const begin = Math.floor((beginUs - AROUND_US) / EVENTS_STEP_US) * EVENTS_STEP_US;
  const end = Math.ceil((endUs + AROUND_US) / EVENTS_STEP_US) * EVENTS_STEP_US;
  return { host: address.host, begin_us: Math.max(begin, 0), end_us: end };
}

function range(address: Address, [begin_us, end_us]: Span) {
  return { host: address.host, begin_us: Math.round(begin_us), end_us: Math.round(end_us) };
}

function asked(address: Address, span: Span): FilterQuestion {
  const { cpus, processes, threads, idle } = address;
  return { ...range(address, span), cpu: cpus, process: processes, thread: threads, idle };
}

function searched({ search, regexp, onlyMatching }: Address): Partial<FilterQuestion> {
  return search ? { search, regexp, only_matching: onlyMatching } : {};
}

function against({ b }: Address): string {
  return Array.isArray(b) ? `${b[0]}..${b[1]}` : (b ?? "");
}
