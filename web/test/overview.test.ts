import assert from "node:assert/strict";
import { test } from "node:test";
import { completeAddress } from "../src/default_range";
import { DEFAULTS } from "../src/address";
import { KeptAnswers } from "../src/api/kept";
import { queryOf } from "../src/api/questions";
import type { RecordedEvent } from "../src/api/types";
import { ticks } from "../src/heatmap/time_axis";
import { durationText, inputText, inputTime, rangeText, timeText } from "../src/parts/time_text";
import { recentEvents, recentZombies } from "../src/views/live/recent";
import { crowds } from "../src/views/overview/crowds";
import { momentOfEvent, momentOfRange } from "../src/views/overview/moment_links";

const SECOND = 1_000_000;
const NOON = Date.UTC(2026, 10, 16, 12) * 1000;

function event(kind: string, seconds: number, id = `${kind}-${seconds}`): RecordedEvent {
  return {
    id,
    kind,
    time_us: NOON + seconds * SECOND,
    text: "",
    core: 3,
    device: null,
    queue: null,
    line: "",
  };
}

test("times are UTC with a Z", () => {
  assert.equal(timeText(NOON + 125_000), "2026-11-16 12:00:00.125Z");
  assert.equal(rangeText(NOON, NOON + SECOND), "2026-11-16 12:00:00Z to 12:00:01Z");
  assert.equal(durationText(3 * 86_400 * SECOND + 7200 * SECOND + 5 * SECOND), "3 d 2 h");
  assert.equal(durationText(0), "0 s");
});

test("a typed time is read, and anything else is not", () => {
  assert.equal(inputTime(inputText(NOON)), NOON);
  assert.equal(inputTime("2026-11-16 12:00"), NOON);
  assert.equal(inputTime("2026-11-16"), NOON - 12 * 3600 * SECOND);
  for (const wrong of ["", "yesterday", "2026-13-01", "12:00", "2026-11-16 25:00"])
    assert.equal(inputTime(wrong), 0);
});

test("ticks stand at whole steps and never crowd", () => {
  for (const seconds of [10, 300, 3600, 43_200, 864_000]) {
    const made = ticks(NOON + 7, NOON + seconds * SECOND, 1000);
    assert.ok(made.length >= 2 && made.length <= 12, `${seconds} s: ${made.length}`);
    assert.ok(made.every((tick) => tick.us % SECOND === 0));
  }
  assert.match(ticks(NOON, NOON + 3600 * SECOND, 1000)[0]!.text, /^11-16 12:00$/);
});

test("marks that would cover each other are one, and the worst stands for it", () => {
  const view = { beginUs: NOON, endUs: NOON + 100 * SECOND };
  const made = crowds(
    [event("unit-restart", 10), event("oom-kill", 11), event("unit-restart", 50)],
    view,
    0.02,
  );
  assert.deepEqual(
    made.map((crowd) => [crowd.events.length, crowd.main.kind]),
    [
      [2, "oom-kill"],
      [1, "unit-restart"],
    ],
  );
  assert.equal(crowds([event("oom-kill", 200)], view, 0.02).length, 0);
});

test("an event opens its minute, with the 5 s before it against the quiet ones", () => {
  const change = momentOfEvent(event("nic-reset", 30.5));
  assert.deepEqual([change.begin, change.end], [NOON, NOON + 60 * SECOND]);
  assert.deepEqual(change.a, [NOON + 25.5 * SECOND, NOON + 30.5 * SECOND]);
  assert.deepEqual([change.b, change.cpus], ["quiet", [3]]);
});

test("chosen seconds are the selection, a chosen hour is the range", () => {
  assert.deepEqual(momentOfRange(NOON + 1, NOON + 2 * SECOND, 1).a, [NOON, NOON + 2 * SECOND]);
  const hour = momentOfRange(NOON, NOON + 3600 * SECOND);
  assert.deepEqual([hour.a, hour.b, hour.begin, hour.end], [null, null, NOON, NOON + 3600 * SECOND]);
});

test("an open address gets the newest host and its last hour; a moment at most two hours", () => {
  const host = {
    name: "h",
    begin_us: NOON,
    end_us: NOON + 9 * 3600 * SECOND,
    is_live: false,
    cores: 2,
    kernel: "",
    labels: {},
    segments: 1,
  };
  const open = completeAddress(DEFAULTS, [host]);
  assert.deepEqual([open.host, open.end - open.begin], ["h", 3600 * SECOND]);
  const moment = completeAddress({ ...open, view: "moment", begin: NOON, end: host.end_us }, [host]);
  assert.ok(moment.end - moment.begin <= 7200 * SECOND);
  assert.equal(completeAddress({ ...DEFAULTS, host: "gone" }, [host]).host, "gone");
});

test("answers are kept, few of them, and an older question is given up", async () => {
  const asked: number[] = [];
  const signals: AbortSignal[] = [];
  let clock = 0;
  const kept = new KeptAnswers(
    async (question: number, signal) => {
      asked.push(question);
      signals.push(signal);
      return question * 2;
    },
    2,
    () => clock,
  );
  assert.equal(await kept.get(1), 2);
  assert.equal(await kept.get(1), 2);
  await kept.get(2);
  await kept.get(3); // now 1 is gone
  await kept.get(1);
  assert.deepEqual(asked, [1, 2, 3, 1]);
  assert.ok(signals[0]!.aborted);
  clock = 120_000;
  await kept.get(1);
  assert.equal(asked.length, 5);
});

test("a query repeats lists and leaves out what is not set", () => {
  assert.equal(
    queryOf({ host: "a b", cpu: [1, 2], search: "", idle: false, since_us: 0 }),
    "host=a+b&cpu=1&cpu=2&since_us=0",
  );
});

test("live events are told once, the newest telling", () => {
  const again = { ...event("core-saturated", 5), text: "for 6 s" };
  const recent = recentEvents(
    [event("core-saturated", 5), event("oom-kill", -400)],
    [again],
    NOON - 300 * SECOND,
  );
  assert.deepEqual(recent, [again]);
});

test("live counts go on without repeating", () => {
  const counts = (...seconds: number[]) => ({
    times_us: seconds.map((second) => second * SECOND),
    tracked: seconds,
    in_use: seconds,
    zombies: seconds,
    forecast: null,
    why_none: "",
    damaged: [],
  });
  const both = recentZombies(counts(1, 2, 3), counts(3, 4), 2 * SECOND);
  assert.deepEqual(both?.tracked, [2, 3, 4]);
  assert.deepEqual(recentZombies(both, null, 0), both);
});
