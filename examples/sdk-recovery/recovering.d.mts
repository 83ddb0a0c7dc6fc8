/** The part of a WebSocket that the public SDK uses. */
interface SocketLike {
  readyState: number;
  send(data: string): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: "open" | "close" | "message" | "error", listener: (event: unknown) => void): void;
  removeEventListener(type: "open" | "close" | "message" | "error", listener: (event: unknown) => void): void;
}

export interface RecoveringOptions<S extends SocketLike> {
  /** Default: the runtime's own WebSocket. */
  readonly open?: (url: string) => S;
  /** Called when messages of a channel are missing. */
  readonly onGap?: (channel: string) => void;
}

/** For the SDK's option `webSocketFactory`. */
export function recovering<S extends SocketLike = SocketLike>(options?: RecoveringOptions<S>): (url: string) => S;
