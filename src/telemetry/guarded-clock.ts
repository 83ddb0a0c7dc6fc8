/** A clock whose callbacks cannot end the process: nothing behind the socket layer reads the clocks of the system. */
import type { Clock } from "../base/clock.ts";
import type { Faults } from "./faults.ts";

/** The same clock with every callback guarded: an exception in a timer would end the process. */
export const guardedClock = ({ after, ...clocks }: Clock, faults: Pick<Faults, "guarded">): Clock => ({
  ...clocks,
  after: (ms, callback) => after(ms, faults.guarded("timer", callback)),
});
