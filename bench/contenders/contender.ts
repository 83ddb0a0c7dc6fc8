/**
 * What every server of the comparison offers: how to get it, how to start it, and its dialect. The loader (native/loader.c)
 * knows no dialect: it plays the scripts made here, writes numbers into the marks of a frame, and finds those marks again in
 * whatever arrives.
 */

/** Ten digits behind each: publisher and message. The loader writes them when it sends. */
export const MARK = "@@0000:00000000";
/** The same for what the server gives back to whoever sent it: its ack. */
export const ACK_MARK = "%%0000:00000000";

/** A message of so many bytes, mark included. */
export const payload = (bytes: number): string => MARK.padEnd(bytes, "x");

/** In order. `expect` waits until those characters have arrived, in any frame. */
export type Step =
  | { readonly send: string }
  /** In a binary frame. */
  | { readonly sendBinary: string }
  | { readonly expect: string };

/** How one connection gets ready. */
export interface Script {
  /** Of the upgrade request. */
  readonly path: string;
  /** Beyond those of every upgrade. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

export interface Frame {
  readonly text: string;
  readonly isBinary?: true;
}

/** `index` numbers the connections of a run: each is another peer. */
export interface Dialect {
  subscriber(index: number, channel: string, options: { readonly metadata: boolean }): Script;
  publisher(index: number, channel: string): Script;
  /** With `MARK` inside `data`, and `ACK_MARK` where `acks` are asked for and the protocol has them. */
  publish(channel: string, data: string, acks: boolean): Frame;
  /** A peer that only has direct messages, and the frame to it; absent: there is nothing of the kind. */
  readonly direct?: {
    peer(index: number): Script;
    frame(to: number, data: string, acks: boolean): Frame;
  };
}

export interface Running extends AsyncDisposable {
  readonly port: number;
  /** Every process whose CPU time and memory are the server's. */
  readonly pids: readonly number[];
  readonly dialect: Dialect;
}

export interface Contender {
  readonly name: string;
  /** Its version once it is there; or why it cannot be had, in a sentence. Installs and builds what is missing. */
  prepare(): Promise<{ readonly version: string } | { readonly missing: string }>;
  /** On the core that is the server's. */
  start(): Promise<Running>;
}
