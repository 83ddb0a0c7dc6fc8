/** Runs a step whose failure must not prevent the next steps: what it throws is reported. */
import type { FaultLog, FaultPlace } from "./faults.ts";

export function safely(faults: FaultLog, where: FaultPlace, step: () => void): void {
  try {
    step();
  } catch (error) {
    faults.caught(where, error);
  }
}
