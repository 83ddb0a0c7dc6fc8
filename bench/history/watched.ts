/**
 * A node that measures the longest stall of its own event loop. SIGUSR2 starts a timer that should fire every millisecond; the next
 * SIGUSR2 stops it, and writes the longest time between two firings to the file that STALLS names. The timer costs CPU itself, so it
 * does not run while CPU is measured.
 */
import { renameSync, writeFileSync } from "node:fs";

const EVERY_MS = 1;
const file = process.env.STALLS ?? "";
let timer: Timer | undefined;
let last = 0;
let longestMs = 0;

function fired(): void {
  const now = performance.now();
  longestMs = Math.max(longestMs, now - last);
  last = now;
}

process.on("SIGUSR2", () => {
  if (!timer) {
    last = performance.now();
    longestMs = 0;
    timer = setInterval(fired, EVERY_MS);
    return;
  }
  clearInterval(timer);
  timer = undefined;
  writeFileSync(`${file}.new`, String(longestMs));
  renameSync(`${file}.new`, file);
});

await import("../../src/main.ts");
