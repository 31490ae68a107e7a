// The page and its views: one view at a time, told of every change of the address.

import { hashOf, parseAddress } from "./address";
import type { Address, ViewName } from "./address";
import type { Ask } from "./api/ask";

export interface Page {
  readonly address: Address;
  go(change: Partial<Address>, how?: "push" | "replace"): void;
  onChange(heard: (now: Address, before: Address) => void): void; // ends with the view
  ask: Ask;
  announce(text: string): void; // said by screen readers
  signal: AbortSignal; // aborted when the view is left
}

export type View = (place: HTMLElement, page: Page) => void;

export interface Stage {
  ask: Ask;
  views: Record<ViewName, View>;
  first: ViewName; // where the address says nothing
  place: HTMLElement;
  announce(text: string): void;
  complete(address: Address): Address; // fills in what the address leaves open
  heard(now: Address): void; // the frame around the views (header, title)
}

type Listener = (now: Address, before: Address) => void;

export interface Shown {
  readonly address: Address;
  go(change: Partial<Address>, how?: "push" | "replace"): void;
  restart(): void; // the view from anew, as after a token was given
}

export function showPage(stage: Stage): Shown {
  let address = stage.complete(parseAddress(location.hash, stage.first));
  let listeners: Listener[] = [];
  let leaving = new AbortController();

  function start(): void {
    leaving.abort();
    leaving = new AbortController();
    listeners = [];
    stage.place.replaceChildren();
    stage.place.dataset.view = address.view;
    const { signal } = leaving;
    const page: Page = {
      get address() {
        return address;
      },
      go,
      onChange: (heard) => {
        if (!signal.aborted) listeners.push(heard);
      },
      ask: stage.ask,
      announce: stage.announce,
      signal,
    };
    stage.views[address.view](stage.place, page);
  }

  /** Another view or host is a new start; everything else the view is told of. */
  function arrive(now: Address): void {
    const before = address;
    address = now;
    stage.heard(now);
    if (now.view !== before.view) scrollTo(0, 0);
    if (now.view !== before.view || now.host !== before.host) start();
    else for (const heard of [...listeners]) heard(now, before);
  }

  function go(change: Partial<Address>, how: "push" | "replace" = "push"): void {
    const now = stage.complete({ ...address, ...change });
    const hash = hashOf(now);
    if (hash === hashOf(address)) return;
    if (how === "push") history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
    arrive(now);
  }

  function follow(): void {
    const now = stage.complete(parseAddress(location.hash, stage.first));
    if (hashOf(now) !== hashOf(address)) arrive(now);
  }

  addEventListener("popstate", follow);
  addEventListener("hashchange", follow);
  history.replaceState(null, "", hashOf(address));
  stage.heard(address);
  start();
  return {
    get address() {
      return address;
    },
    go,
    restart: start,
  };
}
