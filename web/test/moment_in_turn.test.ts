import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULTS, type Address } from "../src/address";
import { inTurn, type Step } from "../src/views/moment/in_turn";

interface Told {
  readonly log: string[];
  readonly open: Map<string, { done(): void; refuse(error: Error): void }>;
}

/** A step whose answers the test gives, and whose question is one field of the address. */
function step(name: string, field: "search" | "zoom", told: Told): Step {
  return {
    question: (address) => ({ asked: address[field] }),
    wait: () => told.log.push(`${name} waits`),
    load: (address, signal) => {
      told.log.push(`${name} ${address[field]}`);
      return new Promise((done, refuse) => {
        told.open.set(name, { done, refuse });
        signal.addEventListener("abort", () => refuse(new Error("aborted")));
      });
    },
    fail: (error) => told.log.push(`${name} ${(error as Error).message}`),
  };
}

function both() {
  const told: Told = { log: [], open: new Map() };
  const leaving = new AbortController();
  const heard = inTurn([step("scope", "search", told), step("flame", "zoom", told)], leaving.signal);
  return { told, leaving, heard };
}

const address: Address = { ...DEFAULTS, search: "x", zoom: "z" };
const soon = () => new Promise((done) => setTimeout(done));

test("the second is asked for when the first is there", async () => {
  const { told, heard } = both();
  heard(address);
  assert.deepEqual(told.log, ["scope waits", "flame waits", "scope x"]);
  told.open.get("scope")?.done();
  await soon();
  assert.equal(told.log.at(-1), "flame z");
});

test("what is outdated is aborted and says nothing", async () => {
  const { told, heard } = both();
  heard(address);
  heard({ ...address, search: "y" });
  await soon();
  assert.deepEqual(told.log.slice(3), ["scope waits", "scope y"]);
});

test("what did not change goes on and is not asked for again", async () => {
  const { told, heard } = both();
  heard(address);
  heard({ ...address, zoom: "other" });
  told.open.get("scope")?.done();
  await soon();
  assert.deepEqual(
    told.log.filter((line) => line.startsWith("scope")),
    ["scope waits", "scope x"],
  );
  assert.deepEqual(
    told.log.filter((line) => line === "flame other"),
    ["flame other"],
  );
});

test("a failure is told and the next is asked for all the same", async () => {
  const { told, heard } = both();
  heard(address);
  told.open.get("scope")?.refuse(new Error("refused"));
  await soon();
  assert.deepEqual(told.log.slice(3), ["scope refused", "flame z"]);
});

test("a view that was left asks nothing more", async () => {
  const { told, leaving, heard } = both();
  heard(address);
  leaving.abort();
  await soon();
  assert.equal(told.log.at(-1), "scope x");
});
