/** What the browser keeps. In frames it may refuse to: then the page goes on without. */

const PREFIX = "parley-meeting-";

export function kept(storage: "local" | "session", key: string): string | undefined {
  try {
    return areaOf(storage).getItem(PREFIX + key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** undefined removes it. */
export function keep(storage: "local" | "session", key: string, value: string | undefined): void {
  try {
    if (value === undefined) areaOf(storage).removeItem(PREFIX + key);
    else areaOf(storage).setItem(PREFIX + key, value);
  } catch {
    // Not kept.
  }
}

const areaOf = (storage: "local" | "session"): Storage => (storage === "local" ? localStorage : sessionStorage);
