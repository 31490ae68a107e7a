// What to do about it, to be copied. The page runs nothing.

import type { PlanStep } from "../../api/types";
import { element } from "../../parts/element";

export function plan(steps: PlanStep[], announce: (text: string) => void): HTMLElement | null {
  if (!steps.length) return null;
  return element(
    "section",
    { class: "diagnosis-part", "aria-labelledby": "plan-title" },
    element("h2", { id: "plan-title" }, "Plan to copy"),
    element(
      "p",
      { class: "quiet" },
      "This page applies nothing. Read each step before you run it on the host.",
    ),
    element("ol", { class: "plan" }, ...steps.map((step) => planStep(step, announce))),
  );
}

function planStep(step: PlanStep, announce: (text: string) => void): HTMLElement {
  if (!step.command) return element("li", {}, step.text);
  const code = element("pre", { tabindex: 0, "aria-label": "Command" }, element("code", {}, step.command));
  return element(
    "li",
    {},
    step.text,
    element("div", { class: "plan-command" }, code, copyButton("Copy", step.command, announce, code)),
  );
}

function copyButton(
  text: string,
  copied: string,
  announce: (text: string) => void,
  shown: HTMLElement,
): HTMLButtonElement {
  const button = element("button", { type: "button", onclick: () => void copy() }, text);
  const copy = async (): Promise<void> => {
    const isCopied = await toClipboard(copied);
    if (!isCopied) getSelection()?.selectAllChildren(shown);
    button.textContent = isCopied ? "Copied" : "Press Ctrl-C";
    announce(isCopied ? "Copied" : "The text is selected: copy it with Ctrl-C");
    setTimeout(() => (button.textContent = text), 2000);
  };
  return button;
}

/** Browsers lend the clipboard only to pages from loopback, by TLS or from disk. */
async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
