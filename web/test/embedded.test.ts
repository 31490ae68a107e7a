import assert from "node:assert/strict";
import { test } from "node:test";
import { culpritKey, flameKey, scopeKey } from "../src/api/answer_key";
import { bytesOf } from "../src/api/bytes";
import { cutCores } from "../src/api/cut_cores";
import { askOf, type Embedded } from "../src/api/embedded";
import { Failure } from "../src/api/failure";
import type { Cores, Events, Zombies } from "../src/api/types";

const SECOND = 1_000_000;

function coresOf(begin_us: number, step_us: number, rows: number[][]): Cores {
  const text = btoa(String.fromCharCode(...rows.flat()));
  const modes = { user: text, system: text, softirq: text, steal: text, wait: text };
  return {
    begin_us,
    step_us,
    columns: rows[0]!.length,
    cores: rows.map((_, core) => core),
    ...modes,
    damaged: [],
  };
}

const whole = coresOf(0, 10 * SECOND, [
  [1, 2, 3, 4, 5, 6],
  [9, 255, 255, 255, 7, 8],
]);
const fine = coresOf(20 * SECOND, SECOND, [
  [30, 31, 32, 33, 34, 35],
  [40, 41, 42, 43, 44, 45],
]);
const range = (begin: number, end: number) => ({ host: "h", begin_us: begin * SECOND, end_us: end * SECOND });
const events: Events = {
  events: [10, 20, 50].map((second) => ({
    id: `e-${second}`,
    time_us: second * SECOND,
    kind: second === 50 ? "nic-reset" : "mark",
    text: "",
    core: 0,
    device: null,
    queue: null,
    line: "",
  })),
  left_out: 0,
  kinds: { "nic-reset": 1, mark: 2 },
  damaged: [],
};
const zombies: Zombies = {
  times_us: [0, 10, 20, 30, 40].map((second) => second * SECOND),
  tracked: [1, 2, 3, 4, 5],
  in_use: [1, 1, 1, 1, 1],
  zombies: [0, 1, 2, 3, 4],
  forecast: { per_hour: 1, low_per_hour: 1, high_per_hour: 1, text: "", wall_us: null },
  why_none: "",
  damaged: [],
};
const held: Embedded = {
  answers: {
    '["events"]': events,
    '["zombies"]': zombies,
    '["cores",0,60000000]': whole,
    '["cores",20000000,26000000]': fine,
    '["diagnosis",0,60000000]': { verdict: "it was the walk" },
    '["culprit",35000000,40000000,[0]]': {
      error: { slug: "no-samples", what: "no samples there", hint: "none" },
    },
  },
};
const ask = askOf(() => Promise.resolve(held));

test("keys are those that the server writes", () => {
  const asked = { ...range(35, 40), cpu: [11, 2], process: ["b", "a"] };
  assert.equal(culpritKey(asked), '["culprit",35000000,40000000,[2,11]]');
  assert.equal(
    scopeKey({ ...asked, rows: 50 }),
    '["scope",35000000,40000000,[2,11],["a","b"],[],[],false,null,50]',
  );
  const searched = { ...asked, search: "x", regexp: true };
  assert.match(scopeKey({ ...searched, rows: 50 }), /\["x",true,false\],50\]$/);
  assert.match(
    flameKey({ ...searched, by: "comm", against: "quiet" }),
    /,false,null,"comm",false,"quiet"\]$/,
  );
  assert.match(flameKey({ ...searched, only_matching: true }), /,\["x",true,true\],"comm",false,""\]$/);
});

test("the whole range is answered as it lies there", () => {
  assert.equal(cutCores([fine, whole], { ...range(0, 60), columns: 6 }), whole);
});

test("columns are folded to the fullest, and what is not recorded stays so", () => {
  const cut = cutCores([whole], { ...range(0, 60), columns: 3 })!;
  assert.deepEqual([cut.begin_us, cut.step_us, cut.columns], [0, 20 * SECOND, 3]);
  assert.deepEqual([...bytesOf(cut.system)], [2, 4, 6, 9, 255, 8]);
});

test("a part is cut from the finest that covers it", () => {
  const cut = cutCores([whole, fine], { ...range(21, 24), columns: 100 })!;
  assert.deepEqual([cut.begin_us, cut.step_us, cut.columns], [21 * SECOND, SECOND, 3]);
  assert.deepEqual([...bytesOf(cut.user)], [31, 32, 33, 41, 42, 43]);
  const coarse = cutCores([whole, fine], { ...range(15, 24), columns: 100 })!;
  assert.deepEqual([coarse.begin_us, coarse.step_us, coarse.columns], [10 * SECOND, 10 * SECOND, 2]);
  assert.equal(cutCores([whole, fine], { ...range(100, 200), columns: 10 }), null);
});

test("events and zombies of a part", async () => {
  const some = await ask.events(range(15, 60));
  assert.deepEqual(
    [some.events.map(({ id }) => id), some.kinds],
    [["e-20", "e-50"], { mark: 1, "nic-reset": 1 }],
  );
  assert.deepEqual((await ask.events({ ...range(0, 60), kind: ["mark"] })).kinds, { mark: 2 });
  const part = await ask.zombies({ ...range(15, 25), columns: 10 });
  assert.deepEqual([part.tracked, part.forecast], [[2, 3, 4], null]);
  assert.equal(await ask.zombies({ ...range(0, 60), columns: 10 }), zombies);
});

test("a diagnosis is that of its range and of no other", async () => {
  assert.equal((await ask.diagnosis({ ...range(0, 61) })).verdict, "it was the walk");
  await assert.rejects(ask.diagnosis(range(0, 30)), isNotInThisFile);
});

test("what the file has no answer for is said to be not in it; an error of the recording stays one", async () => {
  await assert.rejects(ask.scope({ ...range(1, 2), rows: 50 }), isNotInThisFile);
  await assert.rejects(ask.live({ host: "h", since_us: 0 }), isNotInThisFile);
  await assert.rejects(ask.culprit({ ...range(35, 40), cpu: [0] }), (error) => {
    return error instanceof Failure && error.status === 404 && error.what === "no samples there";
  });
});

function isNotInThisFile(error: unknown): boolean {
  return error instanceof Failure && error.slug === "not-in-this-file";
}
