// The diagnosis of a range: why it happened, what else was weighed, and what to do.

import type { Address } from "../../address";
import { isAbort } from "../../api/failure";
import type { Explained } from "../../api/types";
import type { Page, View } from "../../page";
import { element } from "../../parts/element";
import { damagedNote, failureState, loadingState, unknownHost } from "../../parts/states";
import { culprit, notChecked, overviewLink, ruledOut, sentences } from "./beside";
import { chain } from "./chain";
import "./diagnosis.css";
import { plan } from "./plan";
import { verdict } from "./verdict";

export const diagnosis: View = (place, page) => {
  const shown = element("article", { class: "diagnosis", "aria-busy": "true" });
  place.append(shown);
  let asking: AbortController | null = null;
  const load = (): void => {
    asking?.abort();
    asking = new AbortController();
    void ask(shown, page, asking.signal, load);
  };
  page.signal.addEventListener("abort", () => asking?.abort());
  page.onChange((now, before) => {
    if (now.begin !== before.begin || now.end !== before.end) load();
  });
  load();
};

async function ask(shown: HTMLElement, page: Page, signal: AbortSignal, again: () => void): Promise<void> {
  const { host, begin, end } = page.address;
  shown.setAttribute("aria-busy", "true");
  if (!shown.childElementCount) shown.append(loadingState("Looking for what happened, and why …"));
  if (!begin) return shown.replaceChildren(unknownHost(host)); // of a known one the range is known
  try {
    const explained = await page.ask.diagnosis({ host, begin_us: begin, end_us: end }, signal);
    if (signal.aborted) return;
    shown.replaceChildren(...parts(explained, page));
    page.announce(explained.verdict);
  } catch (error) {
    if (isAbort(error) || signal.aborted) return;
    shown.replaceChildren(failureState(error, again));
  }
  shown.setAttribute("aria-busy", "false");
}

function parts(explained: Explained, page: Page): HTMLElement[] {
  const { address } = page;
  const all = [
    verdict(explained, address),
    damagedNote(explained.damaged),
    explained.chain.length ? chainPart(explained, address) : nothingLinked(explained, address),
    culprit(explained, address),
    plan(explained.plan, (text) => page.announce(text)),
    sentences("Missing in the chain", explained.missing),
    ruledOut(explained.ruled_out, address, explained.core),
    sentences("Not ruled out", explained.standing),
    notChecked(explained.not_checked),
  ];
  return all.filter((part) => part !== null);
}

function chainPart(explained: Explained, address: Address): HTMLElement {
  return element(
    "section",
    { "aria-labelledby": "chain-title" },
    element("h2", { id: "chain-title" }, "From the root to the symptom"),
    chain(explained, address),
  );
}

function nothingLinked(explained: Explained, address: Address): HTMLElement {
  const texts = {
    healthy: "In this range there was no NIC reset, no core in the kernel for seconds, and no leak.",
    trouble: "Something happened, and no cause of it that we know could be shown.",
    unknown: "What was recorded does not tell whether something happened. Below is what is missing.",
  };
  return element("p", {}, `${texts[explained.level]} `, overviewLink(address));
}
