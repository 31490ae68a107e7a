import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULTS, type Address } from "../src/address";
import type { Culprits, RecordedEvent, Suspect } from "../src/api/types";
import { marksOf } from "../src/heatmap/scope_markers";
import { pathAround } from "../src/heatmap/scope_overlay";
import { offer, toggled } from "../src/views/moment/choices";
import { ranked, verdictOf } from "../src/views/moment/culprit_table";
import { addressOfEvent, stepFrom } from "../src/views/moment/event_steps";
import { selectionAfter } from "../src/views/moment/keys";
import * as questions from "../src/views/moment/questions";
import { afterWheel } from "../src/views/moment/range_wheel";
import { selectionChange } from "../src/views/moment/selection_change";

const S = 1_000_000;
const address: Address = { ...DEFAULTS, view: "moment", host: "vm", begin: 1000 * S, end: 1060 * S };
const grid = { beginUs: 1000 * S, columns: 60, rows: 50 };

function event(id: string, timeUs: number, core: number | null = null): RecordedEvent {
  return { id, time_us: timeUs, kind: "nic-reset", text: id, core, device: null, queue: null, line: "" };
}

function suspect(process: string, is_significant: boolean): Suspect {
  const shares = { share: 0.5, quiet_share: 0, lift: null, probability: 0.001 };
  return { kind: "process", process, function: "", way: "", ...shares, is_significant, text: `${process}!` };
}

test("arrows step by the selection's own length, with shift by a row", () => {
  const a = [1010 * S, 1012 * S] as const;
  const press = (key: string, shiftKey = false) => selectionAfter({ key, shiftKey }, a, grid);
  assert.deepEqual(press("ArrowRight"), [1012 * S, 1014 * S]);
  assert.deepEqual(press("ArrowLeft"), [1008 * S, 1010 * S]);
  assert.deepEqual(press("ArrowUp", true), [1010.02 * S, 1012.02 * S]);
  assert.equal(press("Escape"), null);
  assert.equal(press("x"), undefined);
});

test("without a selection an arrow makes one at the edge it comes from, and Escape is left to others", () => {
  const press = (key: string) => selectionAfter({ key, shiftKey: false }, null, grid);
  assert.deepEqual(press("ArrowRight"), [1000 * S, 1001 * S]);
  assert.deepEqual(press("ArrowLeft"), [1059 * S, 1060 * S]);
  assert.equal(press("Escape"), undefined);
});

test("the first selection is compared with quiet seconds, a later one with what was chosen", () => {
  assert.equal(selectionChange(address, "a", [1010 * S, 1011 * S]).b, "quiet");
  const chosen: Address = { ...address, a: [1001 * S, 1002 * S], b: null };
  assert.equal(selectionChange(chosen, "a", [1010 * S, 1011 * S]).b, null);
  assert.deepEqual(selectionChange(chosen, "b", [1010 * S, 1011 * S]).b, [1010 * S, 1011 * S]);
});

test("the flame graph is of A, and the scope of the range", () => {
  const chosen: Address = { ...address, a: [1010 * S, 1015 * S], b: [1020 * S, 1030 * S], cpus: [3] };
  const flame = questions.flameQuestion(chosen);
  assert.deepEqual([flame.begin_us, flame.end_us, flame.cpu], [1010 * S, 1015 * S, [3]]);
  assert.equal(flame.against, `${1020 * S}..${1030 * S}`);
  const scope = questions.scopeQuestion(chosen);
  assert.deepEqual([scope.begin_us, scope.end_us, scope.rows], [1000 * S, 1060 * S, 50]);
});

test("a search asks for a new flame graph only if others are left out", () => {
  const searching: Address = { ...address, search: "tcp" };
  assert.deepEqual(questions.flameQuestion(searching), questions.flameQuestion(address));
  const only = questions.flameQuestion({ ...searching, onlyMatching: true });
  assert.deepEqual([only.search, only.only_matching], ["tcp", true]);
  assert.equal(questions.scopeQuestion(searching).search, "tcp");
});

test("the culprit is of all samples of the cores, whatever else is filtered", () => {
  const filtered: Address = { ...address, processes: ["x"], search: "y", onlyMatching: true, cpus: [1] };
  const asked = { host: "vm", begin_us: 1000 * S, end_us: 1060 * S, cpu: [1] };
  assert.deepEqual(questions.culpritQuestion(filtered), asked);
});

test("moving by a second asks for no other events", () => {
  const moved: Address = { ...address, begin: address.begin + S, end: address.end + S };
  assert.deepEqual(questions.eventsQuestion(moved), questions.eventsQuestion(address));
});

test("choosing an event selects the seconds before it on its core", () => {
  const next = addressOfEvent(address, event("e", 1002 * S, 5));
  assert.deepEqual([next.a, next.b, next.cpus], [[997 * S, 1002 * S], "quiet", [5]]);
  assert.deepEqual([next.begin, next.end], [997 * S, 1057 * S]);
});

test("events are stepped through from the chosen one", () => {
  const events = [event("a", 900 * S), event("b", 1020 * S), event("c", 1030 * S)];
  assert.equal(stepFrom(address, events, 1)?.id, "b");
  assert.equal(stepFrom({ ...address, event: "b" }, events, 1)?.id, "c");
  assert.equal(stepFrom({ ...address, event: "b" }, events, -1)?.id, "a");
  assert.equal(stepFrom({ ...address, event: "c" }, events, 1), undefined);
});

test("events close to each other share a mark, those outside have none", () => {
  const events = [event("a", 999 * S), event("b", 1010 * S), event("c", 1010.1 * S), event("d", 1040 * S)];
  const marks = marksOf(events, grid, 600);
  assert.deepEqual(
    marks.map((mark) => mark.events.map(({ id }) => id).join("")),
    ["bc", "d"],
  );
});

test("a selection over seconds is outlined as one staircase, two that do not touch as two boxes", () => {
  const first = { x: 0, y: 0, width: 1, height: 30 };
  const second = { x: 1, y: 20, width: 1, height: 30 };
  assert.equal(pathAround([first, second]).match(/M/g)?.length, 1);
  assert.equal(pathAround([{ ...first, height: 10 }, second]).match(/M/g)?.length, 2);
  assert.equal(pathAround([]), "");
});

test("names let through by a filter stay in its list with those that were there", () => {
  const before = [
    { name: "a", samples: 5 },
    { name: "b", samples: 3 },
  ];
  const now = [{ name: "a", samples: 4 }];
  assert.deepEqual(offer(now, before, ["a"]), [
    { name: "a", samples: 4 },
    { name: "b", samples: 3 },
  ]);
  assert.deepEqual(offer(now, before, []), now);
  assert.deepEqual(offer([], [], ["gone"]), [{ name: "gone", samples: 0 }]);
  assert.deepEqual(toggled(toggled(["a"], "b"), "a"), ["b"]);
});

test("the wheel zooms at the pointer and moves with shift", () => {
  const range = [1000 * S, 1060 * S] as const;
  const [begin, end] = afterWheel(range, { deltaX: 0, deltaY: -300, shiftKey: false }, 0);
  assert.ok(begin === 1000 * S && end < 1060 * S);
  assert.deepEqual(afterWheel(range, { deltaX: 0, deltaY: 100, shiftKey: true }, 0), [1010 * S, 1070 * S]);
});

test("the culprit comes first, then what stands out; nothing is said where nothing can be", () => {
  const [quiet, loud, culprit] = [suspect("quiet", false), suspect("loud", true), suspect("culprit", true)];
  const numbers = { window_seconds: 5, quiet_seconds: 3, compared: 3, damaged: [] };
  const culprits: Culprits = { culprit, suspects: [quiet, loud, culprit], note: "", ...numbers };
  assert.deepEqual(
    ranked(culprits).map(({ process }) => process),
    ["culprit", "loud", "quiet"],
  );
  assert.equal(verdictOf(culprits), "culprit! stands out: 50% of the time against 0% in quiet seconds.");
  assert.match(
    verdictOf({ ...culprits, culprit: null, note: "only 3 quiet seconds" }),
    /Nothing can be said/,
  );
});
