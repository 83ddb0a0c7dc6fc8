/** Whether the command palette is open, and the keys that open it. */
import { signal } from "@preact/signals";

export const isPaletteOpen = signal(false);

/** What was typed after the keys that open it, while it was not there yet. */
let ahead = "";

export function takeTypedAhead(): string {
  const typed = ahead;
  ahead = "";
  return typed;
}

export const PALETTE_KEYS = /^(Mac|iP)/.test(navigator.platform) ? "⌘ K" : "Ctrl K";

/** Returns how to stop it. */
export function followPaletteKeys(): () => void {
  const pressed = (event: KeyboardEvent): void => {
    const { key, ctrlKey, metaKey, shiftKey, altKey } = event;
    const isDrawn = document.querySelector("dialog[open]") !== null;
    if (isPaletteOpen.value && !isDrawn && key.length === 1 && !ctrlKey && !metaKey && !altKey) {
      event.preventDefault();
      ahead += key;
      return;
    }
    if (key.toLowerCase() !== "k" || ctrlKey === metaKey || shiftKey || altKey) return;
    event.preventDefault();
    // A dialog waits for an answer of its own.
    if (isPaletteOpen.value || !isDrawn) isPaletteOpen.value = !isPaletteOpen.value;
    ahead = "";
  };
  addEventListener("keydown", pressed);
  return () => removeEventListener("keydown", pressed);
}
