// Loads one thing after the other, the most wanted first, and stops what is outdated.

import type { Address } from "../../address";

export interface Step {
  question(address: Address): object;
  wait(): void; // the old picture is dimmed
  load(address: Address, signal: AbortSignal): Promise<void>;
  fail(error: unknown, again: () => void): void;
}

interface State {
  readonly step: Step;
  key: string;
  isDue: boolean;
  running: AbortController | null;
}

/** Returns what to call with every address; only steps whose question changed are loaded again. */
export function inTurn(steps: readonly Step[], leaving: AbortSignal): (address: Address) => void {
  const states = steps.map((step): State => ({ step, key: "", isDue: false, running: null }));
  let round = 0;
  leaving.addEventListener("abort", () => states.forEach((state) => state.running?.abort()));

  function heard(address: Address): void {
    for (const state of states) {
      const key = JSON.stringify(state.step.question(address));
      if (key === state.key) continue;
      state.running?.abort();
      state.key = key;
      state.isDue = true;
      state.step.wait();
    }
    void loadDue(++round, address);
  }

  async function loadDue(mine: number, address: Address): Promise<void> {
    for (const state of states) {
      if (mine !== round || leaving.aborted) return;
      if (state.isDue) await load(state, address);
    }
  }

  async function load(state: State, address: Address): Promise<void> {
    const running = new AbortController();
    state.running = running;
    state.isDue = false;
    try {
      await state.step.load(address, running.signal);
    } catch (error) {
      if (!running.signal.aborted) state.step.fail(error, () => retry(state, address));
    }
  }

  function retry(state: State, address: Address): void {
    state.step.wait();
    void load(state, address);
  }

  return heard;
}
