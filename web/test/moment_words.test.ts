import { readMark, writtenMark } from "../src/views/moment/mark";
import assert from "node:assert/strict";
import { test } from "node:test";
import * as words from "../src/views/moment/words";

const AT_US = Date.UTC(2026, 10, 16, 17, 3, 22, 125) * 1000;

test("times are written in UTC, and milliseconds only where there are some", () => {
  assert.equal(words.clockTime(AT_US), "17:03:22.125");
  assert.equal(words.clockTime(AT_US - 125_000), "17:03:22");
  assert.equal(
    words.writtenSpan([AT_US - 5_000_000, AT_US]),
    "2026-11-16 17:03:17.125Z to 17:03:22.125Z, 5 s",
  );
  assert.match(words.writtenSpan([AT_US - 86_400_000_000, AT_US]), /to 2026-11-16 17:03:22.125Z, 24 h$/);
});

test("lengths have the unit that fits", () => {
  const lengths = [20_000, 1_000_000, 90_000_000, 600_000_000, 7_200_000_000].map(words.writtenLength);
  assert.deepEqual(lengths, ["20 ms", "1 s", "90 s", "10 min", "2 h"]);
});

test("small shares are not written as none", () => {
  assert.deepEqual([0, 0.0002, 0.034, 0.71].map(words.writtenShare), ["0%", "<0.1%", "3.4%", "71%"]);
});

test("a suspect never seen in quiet seconds is new", () => {
  assert.deepEqual([null, 3.21, 48.7, 12_000].map(words.writtenLift), ["new", "3.2x", "49x", ">999x"]);
});

test("a probability is told in words and as a number", () => {
  assert.equal(words.chanceInWords(0.00001), "hardly chance");
  assert.equal(words.chanceInWords(0.9), "chance");
  assert.deepEqual([0.00001, 0.0123, 1].map(words.writtenProbability), ["<0.0001", "0.012", "1"]);
});

test("a mark in a link is the suspect it was made from, whatever its name", () => {
  const mark = { process: "a;b%", function: "operator;()", way: "self" };
  assert.deepEqual(readMark(writtenMark(mark)), mark);
  assert.equal(readMark(""), null);
  assert.equal(readMark("%"), null);
});
