/**
 * The interface of every server in the comparison: how to install it, how to start it, and its protocol. The loader
 * (native/loader.c) knows no protocol: it plays the scripts made here, writes numbers into the marks of a frame, and finds those
 * marks in whatever arrives.
 */

/** Followed by ten digits each for publisher and message. The loader writes them when it sends. */
export const MARK = "@@0000:00000000";
/** The same in what the server returns to the sender: its ack. */
export const ACK_MARK = "%%0000:00000000";

/** A message of that many bytes, mark included. */
export const payload = (bytes: number): string => MARK.padEnd(bytes, "x");

/** Executed in order. `expect` waits until those characters have arrived, in any frame. */
export type Step =
  | { readonly send: string }
  /** Sent as a binary frame. */
  | { readonly sendBinary: string }
  | { readonly expect: string };

/** How one connection is set up. */
export interface Script {
  /** The path of the upgrade request. */
  readonly path: string;
  /** In addition to the headers of every upgrade. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

export interface Frame {
  readonly text: string;
  readonly isBinary?: true;
}

/** `index` numbers the connections of a run: each is a different peer. */
export interface Dialect {
  subscriber(index: number, channel: string, options: { readonly metadata: boolean }): Script;
  publisher(index: number, channel: string): Script;
  /** With `MARK` inside `data`, and `ACK_MARK` if `acks` are requested and the protocol has them. */
  publish(channel: string, data: string, acks: boolean): Frame;
  /** A peer that receives only direct messages, and the frame to it; undefined if the server has none. */
  readonly direct?: {
    peer(index: number): Script;
    frame(to: number, data: string, acks: boolean): Frame;
  };
}

export interface Running extends AsyncDisposable {
  readonly port: number;
  /** Every process whose CPU time and memory count as the server's. */
  readonly pids: readonly number[];
  readonly dialect: Dialect;
}

export interface Contender {
  readonly name: string;
  /** Its version once it is installed; or a sentence that says why it is not available. Installs and builds what is missing. */
  prepare(): Promise<{ readonly version: string } | { readonly missing: string }>;
  /** Starts it on the server's core. */
  start(): Promise<Running>;
}
