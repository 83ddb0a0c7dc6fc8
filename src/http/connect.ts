/**
 * `/v1`: reads the request into a ConnectAttempt, and the gateway decides whether it becomes a WebSocket. A browser cannot see
 * why its WebSocket was refused, so a plain GET runs the same checks and shows the reason; only that response is open to every
 * origin.
 */
import { WEBSOCKET_VERSION } from "../protocol/limits.ts";
import type { Gateway } from "../realtime/gateway.ts";
import type { SocketData } from "../realtime/socket-handlers.ts";
import { type Handler, isUpgrade, type RequestPipeline, throwMethodNotAllowed } from "./pipeline.ts";

export const connectHandler = (pipeline: RequestPipeline, gateway: Gateway): Handler =>
  pipeline.wrapUpgrade("/v1", (call, upgrade) => {
    const { request, client } = call;
    if (request.method !== "GET") throwMethodNotAllowed(call, "GET");
    const wantsWebSocket = isUpgrade(request);
    if (!wantsWebSocket) {
      call.headers["Access-Control-Allow-Origin"] = "*";
      call.headers.Upgrade = "websocket";
    }
    // With any refusal; the one for a wrong version must have it (RFC 6455, 4.4).
    call.headers["Sec-WebSocket-Version"] = WEBSOCKET_VERSION;
    return gateway.connect({
      query: queryOf(request.url),
      origin: request.headers.get("origin"),
      client,
      wantsWebSocket,
      version: request.headers.get("sec-websocket-version"),
      upgrade: (data: SocketData) => upgrade(data),
    });
  });

function queryOf(url: string): string {
  const from = url.indexOf("?");
  return from < 0 ? "" : url.slice(from + 1);
}
