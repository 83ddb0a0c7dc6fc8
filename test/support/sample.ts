/** Tests that cost much and differ little: the first of every few runs with `npm test`, and all of them in full runs. */
import { IS_FULL } from "./slack.ts";

/** Whether number `at` runs, if one of `count` is enough. */
export const isInSample = (at: number, count: number): boolean => IS_FULL || at % count === 0;
