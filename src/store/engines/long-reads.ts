/**
 * The queue of lists and totals that may read many rows (base/fair-queue.ts). SQLite runs their statements on the event loop, one after the other.
 * PostgreSQL runs them on connections of the pool, which joins and uploads need too.
 */
import { FairQueue } from "../../base/fair-queue.ts";
import type { Database } from "./database.ts";

/** Fewer than half of the pool's connections. */
const POOL_STEPS_AT_ONCE = 4;
/** Lists of one application that wait: a server that reads in parallel has fewer, and a list takes milliseconds. */
const WAITING_PER_APP_MAX = 50;

export const longReads = ({ isShared }: Pick<Database, "isShared">): FairQueue =>
  new FairQueue({ stepsAtOnce: isShared ? POOL_STEPS_AT_ONCE : 1, waitingMax: WAITING_PER_APP_MAX });
