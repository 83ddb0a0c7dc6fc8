/** Whether the command palette is open, and the keys that open it. */
import { signal } from "@preact/signals";

export const isPaletteOpen = signal(false);

export const PALETTE_KEYS = /^(Mac|iP)/.test(navigator.platform) ? "⌘ K" : "Ctrl K";

/** Returns how to stop it. */
export function followPaletteKeys(): () => void {
  const pressed = (event: KeyboardEvent): void => {
    const { key, ctrlKey, metaKey, shiftKey, altKey } = event;
    if (key.toLowerCase() !== "k" || ctrlKey === metaKey || shiftKey || altKey) return;
    event.preventDefault();
    // A dialog waits for an answer of its own.
    if (isPaletteOpen.value || !document.querySelector("dialog[open]")) isPaletteOpen.value = !isPaletteOpen.value;
  };
  addEventListener("keydown", pressed);
  return () => removeEventListener("keydown", pressed);
}
