// By which name an answer lies in a one-file page; server/one_file/answer_key.py makes the same of the same
// question.

import type { FilterQuestion, FlameQuestion, RangeQuestion, ScopeQuestion } from "./questions";

export const HOSTS_KEY = '["hosts"]';
export const EVENTS_KEY = '["events"]';
export const ZOMBIES_KEY = '["zombies"]';
export const CORES_KEYS = '["cores",'; // how they begin
export const DIAGNOSIS_KEYS = '["diagnosis",';

export function diagnosisKey({ begin_us, end_us }: RangeQuestion): string {
  return JSON.stringify(["diagnosis", begin_us, end_us]);
}

/** Of the filters, only the cores count. */
export function culpritKey({ begin_us, end_us, cpu }: FilterQuestion): string {
  return JSON.stringify(["culprit", begin_us, end_us, numbers(cpu)]);
}

/** A search shows in the cells. */
export function scopeKey(question: ScopeQuestion): string {
  return JSON.stringify(["scope", ...samples(question, Boolean(question.search)), question.rows]);
}

/** A search does not change a tree, unless only what matches is counted. */
export function flameKey(question: FlameQuestion): string {
  const isSearched = Boolean(question.search && question.only_matching);
  const { by = "comm", inverted = false, against = "" } = question;
  return JSON.stringify(["flame", ...samples(question, isSearched), by, inverted, against]);
}

function samples(question: FilterQuestion, isSearched: boolean): unknown[] {
  const { begin_us, end_us, cpu, process, thread, event, idle = false } = question;
  const { search, regexp = false, only_matching = false } = question;
  const searched = isSearched ? [search, regexp, only_matching] : null;
  return [begin_us, end_us, numbers(cpu), names(process), names(thread), names(event), idle, searched];
}

function numbers(values: readonly number[] = []): number[] {
  return [...values].sort((one, other) => one - other);
}

function names(values: readonly string[] = []): string[] {
  return [...values].sort();
}
