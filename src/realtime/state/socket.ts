/** What realtime needs of sockets and topics. In a node these are Bun's; tests use testing/fake-socket.ts. */

export interface Socket {
  /** Only connections over HTTP have one: with it their client sends frames. A credential. */
  readonly session?: string;
  /** Bytes written, 0 if the socket is gone, -1 if they wait for the reader. */
  send(text: string): number;
  /** To the other subscribers of a topic. */
  publish(topic: string, text: string): number;
  ping(payload: string): number;
  subscribe(topic: string): void;
  unsubscribe(topic: string): void;
  close(code: number, reason: string): void;
  /** Ends the socket without a closing handshake. */
  terminate(): void;
  getBufferedAmount(): number;
  /** What is sent within `act` leaves in one write. */
  cork(act: () => void): void;
}

/** Writes a text to every subscriber of a topic except `except`. Returns bytes written; not positive: bytes wait for a reader. */
export type Broadcast = (topic: string, text: string, except: Socket | undefined) => number;
