// Asks every second for what is new; not while nobody looks, and slower while the server does not answer.

import { isAbort } from "../../api/failure";
import type { Live } from "../../api/types";
import type { Page } from "../../page";

const EVERY_MS = 1000;
const AFTER_FAILURE_MS = 3000;

export interface Heard {
  live(answer: Live): void;
  failed(error: unknown): void;
}

export function poll(page: Page, heard: Heard): void {
  let sinceUs = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isAsking = false;

  async function once(): Promise<void> {
    if (document.hidden || isAsking || page.signal.aborted) return;
    isAsking = true;
    let wait = EVERY_MS;
    try {
      const answer = await page.ask.live({ host: page.address.host, since_us: sinceUs }, page.signal);
      sinceUs = answer.last_us;
      heard.live(answer);
    } catch (error) {
      if (!isAbort(error)) heard.failed(error);
      wait = AFTER_FAILURE_MS;
    }
    isAsking = false;
    clearTimeout(timer);
    if (!page.signal.aborted) timer = setTimeout(() => void once(), wait);
  }

  document.addEventListener("visibilitychange", () => void once(), { signal: page.signal });
  page.signal.addEventListener("abort", () => clearTimeout(timer));
  void once();
}
