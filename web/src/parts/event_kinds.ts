// How events look: a lane and a shape for each kind, so that colour is never the only difference.

export type Lane = "stalls" | "cores" | "units" | "other";
export const LANES: readonly Lane[] = ["stalls", "cores", "units", "other"];

interface Look {
  lane: Lane;
  path: string; // in a box of 12 x 12
  rank: number; // the greater one stands for a crowd
}

const TRIANGLE = "M6 0.5 L11.5 11 L0.5 11 Z";
const DIAMOND = "M6 0 L12 6 L6 12 L0 6 Z";
const SQUARE = "M1 1 H11 V11 H1 Z";
const CROSS = "M1 3 L3 1 L6 4 L9 1 L11 3 L8 6 L11 9 L9 11 L6 8 L3 11 L1 9 L4 6 Z";
const CIRCLE = "M6 0.5 A5.5 5.5 0 1 1 5.99 0.5 Z";
const FLAG = "M1 0 H11 L8 3.5 L11 7 H3 V12 H1 Z";
const HOURGLASS = "M1 0 H11 L7 6 L11 12 H1 L5 6 Z";
const BAR = "M4 0 H8 V12 H4 Z";

const LOOKS: Record<string, Look> = {
  "nic-reset": { lane: "stalls", path: TRIANGLE, rank: 9 },
  "hard-lockup": { lane: "stalls", path: CROSS, rank: 8 },
  "soft-lockup": { lane: "stalls", path: SQUARE, rank: 7 },
  "rcu-stall": { lane: "stalls", path: HOURGLASS, rank: 6 },
  "hung-task": { lane: "stalls", path: DIAMOND, rank: 5 },
  "workqueue-lockup": { lane: "stalls", path: BAR, rank: 4 },
  "core-saturated": { lane: "cores", path: SQUARE, rank: 3 },
  "workqueue-hog": { lane: "cores", path: DIAMOND, rank: 2 },
  "rt-throttling": { lane: "cores", path: HOURGLASS, rank: 1 },
  "oom-kill": { lane: "units", path: CROSS, rank: 3 },
  "unit-restart": { lane: "units", path: CIRCLE, rank: 1 },
  "cgroup-leak": { lane: "units", path: DIAMOND, rank: 2 },
  "user-mark": { lane: "other", path: FLAG, rank: 3 },
  "capture-gap": { lane: "other", path: BAR, rank: 1 },
  "clock-step": { lane: "other", path: HOURGLASS, rank: 2 },
};
const UNKNOWN: Look = { lane: "other", path: CIRCLE, rank: 0 };

export function lookOf(kind: string): Look {
  return LOOKS[kind] ?? UNKNOWN;
}
