// The page's colours as the canvas needs them.

import type { Theme } from "./painter";

export function readTheme(place: Element): Theme {
  const style = getComputedStyle(place);
  const of = (name: string, otherwise: string): string => style.getPropertyValue(name).trim() || otherwise;
  return {
    ground: of("--ground", "#fff"),
    dim: of("--hatch", "#e3e7ec"),
    quietText: of("--quiet-text", "#555"),
    focus: of("--focus", "#06c"),
    font: `12px ${of("--font", "sans-serif")}`,
  };
}
