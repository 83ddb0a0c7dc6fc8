/** What a connection needs to know: where the service is, and with what credential. */

/** Why a token is needed: for a connect, because the last one was refused, or because it ends soon. */
export type TokenReason = "connect" | "refused" | "renew";

/** Returns a signed connect token. `null` ends the connection for good. */
export type TokenSource = (request: { readonly reason: TokenReason }) => Promise<string | null> | string | null;

/** One of the two, and never both. */
export type Credential =
  | { readonly key: string; readonly token?: undefined }
  | { readonly key?: undefined; readonly token: TokenSource };

/** What the client uses of a WebSocket: those of browsers, Node, Bun and the package `ws` have it. */
export interface Socket {
  // `never`: each of them has its own types of events, and programs without those of the DOM must compile too.
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(text: string): void;
  close(code?: number): void;
}

export type WebSocketClass = new (url: string) => Socket;

export type Transport = "websocket" | "http";

export type ConnectionOptions = Credential & {
  /** Where the service is: https://parley.example.com; ws: and wss: work too. */
  readonly url: string;
  readonly WebSocket?: WebSocketClass | undefined;
  /** `auto`, by default: HTTP where something on the way blocks WebSockets. */
  readonly transport?: "auto" | Transport | undefined;
  /** Reports what happens, without tokens and payloads: true to the console, or to a function. */
  readonly debug?: boolean | ((line: string) => void) | undefined;
};
