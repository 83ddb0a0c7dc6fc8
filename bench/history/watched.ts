/**
 * A node that measures the longest stall of its own event loop: a timer that should fire every millisecond. On SIGUSR2 it writes the
 * longest gap between two firings since the last SIGUSR2 to the file that STALLS names.
 */
import { renameSync, writeFileSync } from "node:fs";

const EVERY_MS = 1;
const file = process.env.STALLS ?? "";
let last = performance.now();
let longestMs = 0;

setInterval(() => {
  const now = performance.now();
  longestMs = Math.max(longestMs, now - last);
  last = now;
}, EVERY_MS);

process.on("SIGUSR2", () => {
  writeFileSync(`${file}.new`, String(longestMs));
  renameSync(`${file}.new`, file);
  longestMs = 0;
});

await import("../../src/main.ts");
