/**
 * `/v1`: becomes a WebSocket, or says why not. A browser cannot see why its WebSocket was refused, so a plain GET runs the
 * same checks and tells; only that answer is open to every origin.
 */
import { Problem } from "../protocol/codes.ts";
import { WEBSOCKET_VERSION } from "../protocol/limits.ts";
import type { Gateway, SocketData } from "../realtime/gateway.ts";
import { type Handler, isUpgrade, type RequestPipeline } from "./pipeline.ts";

export const connectHandler = (pipeline: RequestPipeline, gateway: Gateway): Handler =>
  pipeline.wrapUpgrade("/v1", (call, upgrade) => {
    const { request, client } = call;
    if (request.method !== "GET") {
      call.headers.Allow = "GET";
      throw new Problem("method_not_allowed", "This address takes GET.");
    }
    if (!isUpgrade(request)) {
      call.headers["Access-Control-Allow-Origin"] = "*";
      call.headers.Upgrade = "websocket";
    }
    // With any refusal; the one for a wrong version must have it (RFC 6455, 4.4).
    call.headers["Sec-WebSocket-Version"] = WEBSOCKET_VERSION;
    return gateway.connect({ request, client, upgrade: (data: SocketData) => upgrade(data) });
  });
