/** Tests that take turns by days: each of them runs every few days, and all of them in full runs. */
import { IS_FULL } from "./slack.ts";

const TODAY = Math.floor(Date.now() / 86_400_000);

/** Whether today is the turn of number `at`, if `count` take turns. */
export const isTurn = (at: number, count: number): boolean => IS_FULL || TODAY % count === at % count;
