// What an address leaves open: the newest host, and its last hour.

import type { Address } from "./address";
import type { RecordedHost } from "./api/types";

const HOUR_US = 3_600_000_000;
const MINUTE_US = 60_000_000;
const SHORTEST_US = 10_000_000;
const LONGEST_MOMENT_US = 2 * HOUR_US; // more than this the server does not answer
const DEFAULT_MOMENT_US = 2 * MINUTE_US;

function lastPart(host: RecordedHost, longestUs: number): [number, number] {
  const end = Math.max(host.end_us, host.begin_us + SHORTEST_US);
  return [Math.max(host.begin_us, end - longestUs), end];
}

/** An unknown host stays as it is: the server says what is wrong with it. */
export function completeAddress(address: Address, hosts: RecordedHost[], hasFleet = false): Address {
  const isWithoutHosts = hasFleet && hosts.length === 0 && address.host === "";
  if (address.view === "fleet" || isWithoutHosts) return { ...address, view: "fleet", host: "" };
  const name = address.host || hosts[0]?.name || "";
  const host = hosts.find((one) => one.name === name);
  if (!host || address.view === "live") return { ...address, host: name };
  const isMoment = address.view === "moment";
  let [begin, end] = [address.begin, address.end];
  if (begin === 0) [begin, end] = lastPart(host, isMoment ? DEFAULT_MOMENT_US : HOUR_US);
  else if (isMoment && end - begin > LONGEST_MOMENT_US) begin = end - DEFAULT_MOMENT_US;
  return { ...address, host: name, begin, end };
}
