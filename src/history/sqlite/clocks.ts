/** The clocks of the embedded history. A step of the wall clock must cost neither messages nor the memory of their ids. */
import type { Clock } from "../../base/clock.ts";

/** Times of messages, which people are shown; what ids are remembered by; what messages are too old by. */
export type HistoryClocks = Pick<Clock, "wallMs" | "monotonicMs" | "retentionMs">;
