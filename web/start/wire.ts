/** The connection: requests and their responses, reconnecting after a loss. docs/protocol.md describes the wire protocol. */

export const SOCKET_ORIGIN = location.origin.replace(/^http/, "ws");

const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 10_000;
const PING_EVERY_MS = 20_000;
const WELCOME_WITHIN_MS = 10_000;
const REASON_WITHIN_MS = 5000;

interface End {
  readonly text: string;
  /** Do not reconnect. */
  readonly isFinal?: boolean;
  readonly waitMs?: number;
}

const CLOSES: Readonly<Record<number, End>> = {
  4001: { isFinal: true, text: "The key was revoked." },
  4010: { text: "The application is at its cap of connections." },
  4020: { isFinal: true, text: "An operator or the backend ended this connection. Reload the page to connect again." },
};

interface PresenceEntry {
  readonly peerId: string;
  readonly state?: unknown;
}

export type ServerFrame =
  | { readonly type: "welcome"; readonly peerId: string }
  | { readonly type: "ack"; readonly requestId: string }
  | { readonly type: "error"; readonly requestId?: string; readonly code: string; readonly message: string }
  | { readonly type: "message"; readonly from: string; readonly data: unknown }
  | { readonly type: "direct"; readonly from: string; readonly data: unknown }
  | {
      readonly type: "presence";
      readonly joined: readonly PresenceEntry[];
      readonly left: readonly PresenceEntry[];
      readonly snapshot?: true;
    }
  | { readonly type: "state"; readonly changed: readonly PresenceEntry[] };

type Frame<T extends ServerFrame["type"]> = Extract<ServerFrame, { readonly type: T }>;

export type StateKind = "good" | "wait" | "bad";

export interface Handlers {
  readonly connection: (kind: StateKind, text: string) => void;
  /** An error that answers no request. */
  readonly error: (error: Error) => void;
  readonly lost: () => void;
  readonly welcome: () => void;
  readonly message: (frame: Frame<"message">) => void;
  readonly direct: (frame: Frame<"direct">) => void;
  readonly presence: (frame: Frame<"presence">) => void;
  readonly state: (frame: Frame<"state">) => void;
}

interface Pending {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class Wire {
  peerId: string | undefined;
  private socket: WebSocket | undefined;
  private pinging: ReturnType<typeof setInterval> | undefined;
  /** While connecting, the timeout for the welcome; while waiting, the next attempt. */
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly pending = new Map<string, Pending>();
  private requests = 0;
  private failures = 0;
  private isSilent = false;
  private isClosed = false;

  constructor(
    private readonly key: string,
    private readonly on: Handlers,
  ) {}

  connect(): void {
    const socket = new WebSocket(`${SOCKET_ORIGIN}/v1?${this.query}`);
    this.socket = socket;
    socket.onmessage = ({ data }) => {
      this.isSilent = false;
      this.receive(JSON.parse(data) as ServerFrame);
    };
    socket.onclose = ({ code }) => void this.lost(code);
    this.timer = setTimeout(() => void this.lost(1006), WELCOME_WITHIN_MS);
  }

  /** Resolves with the ack, rejects with the error. */
  request(frame: object): Promise<void> {
    if (!this.peerId || !this.socket) return Promise.reject(new Error("Not connected."));
    const requestId = String(++this.requests);
    this.socket.send(JSON.stringify({ ...frame, requestId }));
    return new Promise((resolve, reject) => this.pending.set(requestId, { resolve, reject }));
  }

  /** Closes the connection without reconnecting. */
  close(): void {
    this.isClosed = true;
    this.disconnect();
  }

  private get query(): URLSearchParams {
    return new URLSearchParams({ key: this.key });
  }

  private receive(frame: ServerFrame): void {
    switch (frame.type) {
      case "welcome":
        this.peerId = frame.peerId;
        this.failures = 0;
        clearTimeout(this.timer);
        this.pinging = setInterval(() => this.ping(), PING_EVERY_MS);
        return this.on.welcome();
      case "ack":
        return this.answered(frame.requestId)?.resolve();
      case "error": {
        const error = new Error(`${frame.message} (${frame.code})`);
        const pending = this.answered(frame.requestId ?? "");
        return pending ? pending.reject(error) : this.on.error(error);
      }
      case "message":
        return this.on.message(frame);
      case "direct":
        return this.on.direct(frame);
      case "presence":
        return this.on.presence(frame);
      case "state":
        return this.on.state(frame);
    }
  }

  private answered(requestId: string): Pending | undefined {
    const pending = this.pending.get(requestId);
    this.pending.delete(requestId);
    return pending;
  }

  /** A page cannot see the service's pings, so it sends its own. If nothing arrives between two of them, the connection is lost. */
  private ping(): void {
    if (this.isSilent) return void this.lost(1006);
    this.isSilent = true;
    this.socket?.send('{"type":"ping"}');
  }

  private async lost(code: number): Promise<void> {
    const wasConnected = this.peerId !== undefined;
    this.disconnect();
    const known = CLOSES[code] ?? (wasConnected ? { text: "The connection was lost." } : undefined);
    const { isFinal, text, waitMs = 0 } = known ?? (await this.whyRefused());
    if (this.isClosed) return;
    if (isFinal) return this.on.connection("bad", text);
    const backOff = Math.min(RETRY_FIRST_MS * 2 ** this.failures++, RETRY_MAX_MS);
    this.on.connection("wait", [text, "Trying again …"].join(" "));
    this.timer = setTimeout(() => this.connect(), Math.max(waitMs, backOff * (0.8 + 0.4 * Math.random())));
  }

  /** A browser does not say why a WebSocket was refused; the same address as a plain GET does. */
  private async whyRefused(): Promise<End> {
    const options = { cache: "no-store", signal: AbortSignal.timeout(REASON_WITHIN_MS) } as const;
    const response = await fetch(`/v1?${this.query}`, options).catch(() => undefined);
    const body = await response?.json().catch(() => undefined);
    if (!response || !body?.error) return { text: "The service is not responding." };
    const text = `${body.message} (${body.error})`;
    if (response.status === 401) return { isFinal: true, text };
    // A same-origin GET has no Origin header, so it passes even if the key does not allow this origin.
    if (response.status === 426)
      return { text: `No connection. Is ${location.origin} among the key's allowed origins?` };
    return { text, waitMs: Number(response.headers.get("Retry-After")) * 1000 };
  }

  private disconnect(): void {
    const wasConnected = this.peerId !== undefined;
    clearInterval(this.pinging);
    clearTimeout(this.timer);
    if (this.socket) this.socket.onclose = this.socket.onmessage = null;
    this.socket?.close();
    this.socket = this.peerId = undefined;
    this.isSilent = false;
    for (const { reject } of this.pending.values()) reject(new Error("The connection was lost."));
    this.pending.clear();
    if (wasConnected) this.on.lost();
  }
}
