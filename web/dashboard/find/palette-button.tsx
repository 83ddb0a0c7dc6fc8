/** Opens the command palette. */
import { isPaletteOpen, PALETTE_KEYS } from "./palette-open.ts";

export const PaletteButton = () => (
  <button
    type="button"
    class="small palette-button"
    title={`Search everything (${PALETTE_KEYS})`}
    onClick={() => (isPaletteOpen.value = true)}
  >
    <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">
      <circle cx="6" cy="6" r="4.25" fill="none" stroke="currentColor" stroke-width="1.5" />
      <path d="m9.25 9.25 3.5 3.5" stroke="currentColor" stroke-width="1.5" />
    </svg>
    <span class="hidden-text">Search everything </span>
    <span class="palette-keys">{PALETTE_KEYS}</span>
  </button>
);
