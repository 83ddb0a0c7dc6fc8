/**
 * `/v1`: reads the request into a ConnectAttempt, and the gateway decides whether it becomes a WebSocket. A browser cannot see
 * why its WebSocket was refused, so a plain GET runs the same checks and shows the reason; only that response is open to every
 * origin.
 */
import type { Address } from "../../base/address.ts";
import { WEBSOCKET_VERSION } from "../../protocol/limits.ts";
import type { ConnectAttempt, Gateway } from "../../realtime/frames/gateway.ts";
import type { SocketData } from "../../realtime/frames/socket-handlers.ts";
import type { Call } from "../request/call.ts";
import type { FileReserve } from "../server/file-reserve.ts";
import {
  type Handler,
  isUpgrade,
  type RequestPipeline,
  throwMethodNotAllowed,
  type Upgradable,
} from "../server/pipeline.ts";

export const connectHandler = (
  pipeline: RequestPipeline,
  gateway: Gateway,
  files: Pick<FileReserve, "isFull">,
): Handler =>
  pipeline.wrapUpgrade(
    "/v1",
    (call, connection) => {
      if (call.request.method !== "GET") throwMethodNotAllowed(call, "GET");
      return gateway.connect(new RequestAttempt(call, connection));
    },
    (call) => {
      addRefusalHeaders(call);
      // Bun closes the connection then. One that waits for further requests would keep the file that this node lacks.
      if (files.isFull) call.headers.Connection = "close";
    },
  );

/** Headers are read when they are asked for: each of them costs a call into the runtime, and a token is good for every origin. */
class RequestAttempt implements ConnectAttempt {
  readonly query: string;

  constructor(
    private readonly call: Call,
    private readonly connection: Upgradable,
  ) {
    this.query = queryOf(call.request.url);
  }

  upgrade(data: SocketData): boolean {
    return this.connection.upgrade(data);
  }

  get client(): Address {
    return this.call.client;
  }

  get origin(): string | null {
    return this.call.request.headers.get("origin");
  }

  get wantsWebSocket(): boolean {
    return isUpgrade(this.call.request);
  }

  get version(): string | null {
    return this.call.request.headers.get("sec-websocket-version");
  }
}

function addRefusalHeaders({ request, headers }: Call): void {
  if (request.method !== "GET") return;
  if (!isUpgrade(request)) {
    headers["Access-Control-Allow-Origin"] = "*";
    // Scripts of other origins see no other header than the few that are always safe.
    headers["Access-Control-Expose-Headers"] = "Retry-After";
    headers.Upgrade = "websocket";
  }
  // With any refusal; the one for a wrong version must have it (RFC 6455, 4.4).
  headers["Sec-WebSocket-Version"] = WEBSOCKET_VERSION;
}

function queryOf(url: string): string {
  const from = url.indexOf("?");
  return from < 0 ? "" : url.slice(from + 1);
}
