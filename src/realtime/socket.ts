/** What the heart needs of a socket and of topics: Bun's own in a node, a stand-in where the clock is not real. */

export interface Socket {
  /** Bytes written, 0 if the socket is gone, -1 if they wait for the reader. */
  send(text: string): number;
  /** To the other subscribers of a topic. */
  publish(topic: string, text: string): number;
  ping(payload: string): number;
  subscribe(topic: string): void;
  unsubscribe(topic: string): void;
  close(code: number, reason: string): void;
  /** Ends it without a handshake: for readers that are gone. */
  terminate(): void;
  getBufferedAmount(): number;
}

/** Writes a text to every subscriber of a topic, but not to `except`. Not positive: bytes wait for some reader. */
export type Broadcast = (topic: string, text: string, except: Socket | undefined) => number;
