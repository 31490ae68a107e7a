// In a one-file page the answers lie in the page itself: gzip and base64, in the element with the id "embedded".
// Without that element the page asks its server.

import { culpritKey, diagnosisKey, flameKey, scopeKey } from "./answer_key";
import { CORES_KEYS, DIAGNOSIS_KEYS, EVENTS_KEY, HOSTS_KEY, ZOMBIES_KEY } from "./answer_key";
import type { Ask } from "./ask";
import { serverFleet } from "./ask_fleet";
import { bytesOf } from "./bytes";
import { cutCores } from "./cut_cores";
import { cutEvents, cutZombies } from "./cut_series";
import { Failure, NOT_IN_THIS_FILE } from "./failure";
import type { RangeQuestion } from "./questions";
import type * as t from "./types";

/** Every answer of the file by its key; where the recording had none, the error it gave. */
export interface Embedded {
  answers: { [key: string]: unknown };
}

const SAME_US = 2_000_000; // ranges whose ends differ by less are one range in other words
const HINT =
  "A saved page holds the overview, the diagnosis of its whole range and the seconds before the worst events. " +
  "The rest is in the recording: necroscope serve shows it.";

export function notInThisFile(what: string): Failure {
  return new Failure(410, NOT_IN_THIS_FILE, `This file does not hold ${what}.`, HINT);
}

export function embeddedAsk(page: Document = document): Ask | null {
  const place = page.getElementById("embedded");
  if (!place) return null;
  const { start } = place.dataset;
  if (start && location.hash.length < 2) history.replaceState(null, "", start);
  let opened: Promise<Embedded> | undefined;
  return askOf(() => (opened ??= open(place.textContent ?? "")));
}

async function open(text: string): Promise<Embedded> {
  if (typeof DecompressionStream === "undefined") {
    const what = "This browser cannot open the answers in this file.";
    throw new Failure(400, "old-browser", what, "Chrome 80, Firefox 113 or Safari 16.4 can.");
  }
  const packed = new Blob([bytesOf(text.trim())]);
  const unpacked = packed.stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(unpacked).json()) as Embedded;
}

/** The same questions as a server answers, from what the file holds. */
export function askOf(opened: () => Promise<Embedded>): Ask {
  async function find<Answer>(key: string, what: string, signal?: AbortSignal): Promise<Answer> {
    const { answers } = await opened();
    signal?.throwIfAborted();
    return answerIn<Answer>(answers[key], what);
  }
  return {
    hosts: (signal) => find(HOSTS_KEY, "hosts", signal),
    async cores(question, signal) {
      const { answers } = await opened();
      signal?.throwIfAborted();
      const all = Object.keys(answers).filter((key) => key.startsWith(CORES_KEYS));
      const held = all.map((key) => answers[key]).filter((one): one is t.Cores => !isFailed(one));
      const found = cutCores(held, question);
      return found ?? answerIn<t.Cores>(answers[all[0] ?? ""], "these seconds of cores");
    },
    async events(question, signal) {
      return cutEvents(await find<t.Events>(EVENTS_KEY, "events", signal), question);
    },
    async zombies(question, signal) {
      return cutZombies(await find<t.Zombies>(ZOMBIES_KEY, "memory cgroups", signal), question);
    },
    async diagnosis(question, signal) {
      const { answers } = await opened();
      const key = nearestDiagnosis(Object.keys(answers), question) ?? diagnosisKey(question);
      return find(key, "the diagnosis of this range", signal);
    },
    scope: (question, signal) => find(scopeKey(question), "the samples of these seconds", signal),
    flame: (question, signal) => find(flameKey(question), "a flame graph of these samples", signal),
    culprit: (question, signal) => find(culpritKey(question), "who stands out in these seconds", signal),
    live: () => Promise.reject(notInThisFile("what is recorded now")),
    fleet: serverFleet(() => Promise.reject(notInThisFile("the fleet"))),
    exportUrl: () => "",
    oneFile: true,
  };
}

/** Of another range it would be another diagnosis: only the same, give or take a second, is taken. */
function nearestDiagnosis(keys: readonly string[], { begin_us, end_us }: RangeQuestion): string | undefined {
  return keys.find((key) => {
    if (!key.startsWith(DIAGNOSIS_KEYS)) return false;
    const [, begin, end] = JSON.parse(key) as [string, number, number];
    return Math.abs(begin - begin_us) < SAME_US && Math.abs(end - end_us) < SAME_US;
  });
}

interface Failed {
  error: { slug: string; what: string; hint: string };
}

function isFailed(answer: unknown): answer is Failed {
  return typeof answer === "object" && answer !== null && "error" in answer;
}

function answerIn<Answer>(answer: unknown, what: string): Answer {
  if (answer === undefined) throw notInThisFile(what);
  if (isFailed(answer)) throw new Failure(404, answer.error.slug, answer.error.what, answer.error.hint);
  return answer as Answer;
}
