// Times and durations as the page writes them: UTC, with a Z.

export const SECOND_US = 1_000_000;
export const MINUTE_US = 60 * SECOND_US;
export const HOUR_US = 60 * MINUTE_US;
export const DAY_US = 24 * HOUR_US;

function iso(us: number): string {
  return new Date(us / 1000).toISOString();
}

/** 2026-11-16 17:03:22Z, with milliseconds where there are any. */
export function timeText(us: number): string {
  const text = iso(us).replace("T", " ");
  return text.replace(".000Z", "Z");
}

/** 17:03:22Z */
export function clockText(us: number): string {
  return `${iso(us).slice(11, 19)}Z`;
}

export function rangeText(beginUs: number, endUs: number): string {
  const sameDay = iso(beginUs).slice(0, 10) === iso(endUs).slice(0, 10);
  return `${timeText(beginUs)} to ${sameDay ? clockText(endUs) : timeText(endUs)}`;
}

/** 12 h, 90 s, 3 d 4 h: at most two units. */
export function durationText(us: number): string {
  const units: [number, string][] = [
    [DAY_US, "d"],
    [HOUR_US, "h"],
    [MINUTE_US, "min"],
    [SECOND_US, "s"],
  ];
  let left = Math.max(0, Math.round(us / SECOND_US) * SECOND_US);
  const said: string[] = [];
  for (const [unit, name] of units) {
    const count = Math.floor(left / unit);
    left -= count * unit;
    if (count > 0 && said.length < 2) said.push(`${count} ${name}`);
  }
  return said.join(" ") || "0 s";
}

/** A time as it is typed, to the second; always UTC. */
export function inputText(us: number): string {
  return iso(us).slice(0, 19).replace("T", " ");
}

const TYPED = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d)?))?\s*Z?$/;

/** 2026-11-16, 2026-11-16 17:03 or 2026-11-16 17:03:22, with or without a Z; 0 where it is no time. */
export function inputTime(text: string): number {
  const [, day, clock = "00:00"] = TYPED.exec(text.trim()) ?? [];
  const milliseconds = day ? Date.parse(`${day}T${clock}Z`) : NaN;
  return Number.isNaN(milliseconds) ? 0 : milliseconds * 1000;
}
