// Typed questions to the server. One file: all the page ever requests is here.

import { serverFleet } from "./ask_fleet";
import type { FleetAsk } from "./ask_fleet";
import { Failure, failureIn, isAbort, lostServer } from "./failure";
import { queryOf } from "./questions";
import type * as q from "./questions";
import type * as t from "./types";

export interface Ask {
  fleet: FleetAsk;
  hosts(signal?: AbortSignal): Promise<t.Hosts>;
  cores(question: q.ColumnsQuestion, signal?: AbortSignal): Promise<t.Cores>;
  events(question: q.EventsQuestion, signal?: AbortSignal): Promise<t.Events>;
  zombies(question: q.ColumnsQuestion, signal?: AbortSignal): Promise<t.Zombies>;
  diagnosis(question: q.RangeQuestion, signal?: AbortSignal): Promise<t.Explained>;
  scope(question: q.ScopeQuestion, signal?: AbortSignal): Promise<t.Scope>;
  flame(question: q.FlameQuestion, signal?: AbortSignal): Promise<t.Flame>;
  culprit(question: q.FilterQuestion, signal?: AbortSignal): Promise<t.Culprits>;
  live(question: q.LiveQuestion, signal?: AbortSignal): Promise<t.Live>;
  exportUrl(question: q.ExportQuestion): string;
  oneFile: boolean;
}

const BUSY_RETRIES = 3;

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, credentials: "same-origin" });
  } catch (error) {
    throw isAbort(error) ? error : lostServer();
  }
}

function pause(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    const timer = setTimeout(done, seconds * 1000);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      fail(signal.reason);
    });
  });
}

/** A busy server says when to come again; a few times that is done without a word. */
async function get<Answer>(path: string, question: object, signal?: AbortSignal): Promise<Answer> {
  const url = `api/${path}?${queryOf(question)}`;
  for (let tries = 0; ; tries++) {
    const response = await reach(url, signal ? { signal } : {});
    if (response.ok) return (await response.json()) as Answer;
    const failure = await failureIn(response);
    if (failure.status !== 503 || tries === BUSY_RETRIES) throw failure;
    await pause(Math.max(1, failure.retryAfterSeconds), signal);
  }
}

export function serverAsk(): Ask {
  return {
    fleet: serverFleet(get),
    hosts: (signal) => get("hosts", {}, signal),
    cores: (question, signal) => get("cores", question, signal),
    events: (question, signal) => get("events", question, signal),
    zombies: (question, signal) => get("zombies", question, signal),
    diagnosis: (question, signal) => get("diagnosis", question, signal),
    scope: (question, signal) => get("scope", question, signal),
    flame: (question, signal) => get("flame", question, signal),
    culprit: (question, signal) => get("culprit", question, signal),
    live: (question, signal) => get("live", question, signal),
    exportUrl: (question) => `api/export?${queryOf(question)}`,
    oneFile: false,
  };
}

/** Hands the token in; the server answers with a cookie. */
export async function openSession(token: string): Promise<void> {
  const response = await reach("api/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token }),
  });
  if (!response.ok) throw await failureIn(response);
}

export { Failure };
