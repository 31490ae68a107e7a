// Whether the recorder runs, in words and with a sign.

import type { Failure } from "../../api/failure";
import type { Live } from "../../api/types";
import { element } from "../../parts/element";
import { clockText, durationText, timeText } from "../../parts/time_text";

export interface RecorderState {
  readonly element: HTMLElement;
  show(live: Live): void;
  fail(failure: Failure): void;
}

export function recorderState(): RecorderState {
  const title = element("strong", {}, "Connecting");
  const words = element("span", { class: "quiet" });
  const place = element("div", { class: "recorder-state", "data-level": "loading" }, title, words);
  // Screen readers hear when it changes, not every second.
  title.setAttribute("role", "status");

  function say(level: string, text: string, more: string): void {
    place.dataset.level = level;
    if (title.textContent !== text) title.textContent = text;
    words.textContent = more;
  }

  return {
    element: place,
    show(live) {
      if (live.is_live) say("live", "● Recording", `newest second ${clockText(live.last_us)}`);
      else say("stopped", "■ Recorder stopped", stoppedText(live));
    },
    fail(failure) {
      say("lost", "▲ Not updated", `${failure.what} ${failure.hint}`);
    },
  };
}

function stoppedText(live: Live): string {
  const ago = durationText(live.now_us - live.last_us);
  return `${ago} ago, at ${timeText(live.last_us)}. To go on: necroscope record`;
}
