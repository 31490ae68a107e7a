// The states of the page that are not its content: loading, nothing there, refused, failed.

import { openSession } from "../api/ask";
import { failureOf, inOneLine, NOT_IN_THIS_FILE } from "../api/failure";
import type { Failure } from "../api/failure";
import type { Damaged } from "../api/types";
import { element } from "./element";

const AGAIN_AFTER_MS = 3000;
export const SESSION_OPENED = "session-opened"; // who hears it and starts all anew prevents the default
let forms = 0; // several parts of a view may ask for the token

export function loadingState(text: string): HTMLElement {
  return element("div", { class: "skeleton", role: "status" }, text);
}

/** Nothing to show, which is no failure; `command` is what the reader may run. */
export function emptyState(title: string, text: string, command = ""): HTMLElement {
  return element(
    "section",
    { class: "state", role: "status" },
    element("h2", {}, title),
    element("p", {}, text),
    command !== "" && element("pre", { tabindex: 0 }, command),
  );
}

export function unknownHost(name: string): HTMLElement {
  return emptyState(
    "No such host in the store",
    `Nothing is recorded of "${name}". It may have been removed to make room; choose another host above.`,
  );
}

/** Every failure with what to do about it. A server that is gone is asked again without a click. */
export function failureState(error: unknown, retry?: () => void): HTMLElement {
  const failure = failureOf(error);
  if (failure.status === 401) return tokenForm(failure, retry ?? (() => location.reload()));
  if (failure.slug === NOT_IN_THIS_FILE) {
    return emptyState("Not in this file", `${failure.what} ${failure.hint}`);
  }
  const state = element(
    "section",
    { class: "state trouble", role: "alert" },
    element("h2", {}, titleOf(failure)),
    element("p", {}, failure.what),
    failure.hint !== "" && element("p", { class: "quiet" }, failure.hint),
    retry && element("button", { onclick: retry, type: "button" }, "Try again"),
  );
  if (failure.status === 0 && retry) comeBack(state, retry);
  return state;
}

function titleOf(failure: Failure): string {
  const titles: Record<number, string> = {
    0: "No connection to the server",
    403: "Not permitted from here",
    404: "Nothing recorded there",
    413: "Too much at once",
    501: "A package is missing",
    502: "The fleet's place cannot be used",
    503: "The server is busy",
  };
  return titles[failure.status] ?? (failure.status < 500 ? "This cannot be asked" : "Something went wrong");
}

function comeBack(state: HTMLElement, retry: () => void): void {
  setTimeout(() => {
    if (!state.isConnected) return;
    if (document.hidden) comeBack(state, retry);
    else retry();
  }, AGAIN_AFTER_MS);
}

function tokenForm(failure: Failure, then: () => void): HTMLElement {
  const number = forms++ || "";
  const input = element("input", {
    id: `token${number}`,
    type: "password",
    autocomplete: "current-password",
    required: true,
    "aria-describedby": `token-says${number}`,
  });
  const says = element("p", { id: `token-says${number}`, class: "quiet", role: "status" }, failure.hint);
  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    try {
      await openSession(input.value.trim());
      if (dispatchEvent(new Event(SESSION_OPENED, { cancelable: true }))) then();
    } catch (error) {
      says.textContent = inOneLine(error);
      input.select();
    }
  }
  return element(
    "section",
    { class: "state wanting" },
    element("h2", {}, "A token is needed"),
    element("p", {}, "This page is served to other machines, so it asks who you are."),
    element(
      "form",
      { onsubmit: (event: SubmitEvent) => void submit(event) },
      element("label", { for: input.id }, "The token from the file given to necroscope serve --token-file"),
      input,
      element("button", { type: "submit", class: "primary" }, "Open"),
    ),
    says,
  );
}

/** For a part whose neighbours are shown: one line in its place. */
export function notShown(part: string, error: unknown): string {
  return `${part} are not shown: ${inOneLine(error)}`;
}

/** What of the recording could not be read, so that no picture passes for whole. */
export function damagedNote(damaged: Damaged[]): HTMLElement | null {
  if (damaged.length === 0) return null;
  const lines = damaged.map((one) => element("li", {}, `${one.what}; ${one.hint}`));
  return element(
    "details",
    { class: "notes" },
    element("summary", {}, `${damaged.length} parts of the recording could not be read`),
    element("ul", {}, ...lines),
  );
}
