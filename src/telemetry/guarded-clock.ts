/** The system's clock for a node: nothing below the socket reads another one. */
import type { Clock } from "../base/clock.ts";
import type { Faults } from "./faults.ts";

/** The same clock with every callback guarded: an exception in a timer would end the process. */
export const guardedClock = ({ after, ...clocks }: Clock, faults: Pick<Faults, "guarded">): Clock => ({
  ...clocks,
  after: (ms, callback) => after(ms, faults.guarded("timer", callback)),
});
