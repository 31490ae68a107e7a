// Dark or light: the system's choice, until the reader makes another. The choice stays in this browser.

export type Theme = "dark" | "light";
const KEY = "necroscope-theme";

const listeners = new Set<(theme: Theme) => void>();

// Storage may be switched off, and a file opened from disk may not have any.
function kept(): Theme | null {
  try {
    const value = localStorage.getItem(KEY);
    return value === "dark" || value === "light" ? value : null;
  } catch {
    return null;
  }
}

export function theme(): Theme {
  return document.documentElement.dataset.theme === "dark" ? "dark" : "light";
}

function use(chosen: Theme): void {
  document.documentElement.dataset.theme = chosen;
  for (const heard of listeners) heard(chosen);
}

export function startTheme(): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  use(kept() ?? (system.matches ? "dark" : "light"));
  system.addEventListener("change", () => {
    if (kept() === null) use(system.matches ? "dark" : "light");
  });
}

export function toggleTheme(): void {
  const other: Theme = theme() === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(KEY, other);
  } catch {
    // then it holds for this visit only
  }
  use(other);
}

/** Canvases have to be drawn anew. */
export function onTheme(heard: (theme: Theme) => void, signal: AbortSignal): void {
  listeners.add(heard);
  signal.addEventListener("abort", () => listeners.delete(heard));
}

/** The value of a colour of tokens.css, for canvases. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
