/** How many workers a service has. */
import { availableParallelism } from "node:os";
import { WORKERS_MAX } from "../config/reading.ts";

export const workerCount = (setting: number | "auto"): number =>
  setting === "auto" ? Math.min(WORKERS_MAX, Math.max(1, availableParallelism())) : setting;

/** Elsewhere the system does not spread connections over the processes that share a port. */
export const CAN_SHARE_PORTS = process.platform === "linux";
