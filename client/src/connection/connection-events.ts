/** What a connection tells the client, and asks of it. */
import type { ParleyError } from "../events/errors.ts";
import type { Frame, Welcome } from "../events/frames.ts";
import type { Status } from "../events/types.ts";

export interface ConnectionEvents {
  status(status: Status): void;
  welcome(welcome: Welcome): void;
  frame(frame: Frame, length: number): void;
  /** The connection has ended: nothing that was sent will be answered. */
  lost(error: ParleyError): void;
  /** Something went wrong that does not end the client. */
  error(error: ParleyError): void;
  renew(token: string): Promise<Frame>;
  /** See WayBack. */
  settled: (then: () => unknown) => void;
}
