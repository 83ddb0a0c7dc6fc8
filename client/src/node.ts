/** `parley-client/node`: the client with the WebSocket of the package `ws`, imported so that bundlers see it. */
import { WebSocket as NodeWebSocket } from "ws";
import { type ParleyOptions, Parley as PlainParley } from "./parley.ts";

export * from "./index.ts";

export class Parley extends PlainParley {
  constructor(options: ParleyOptions) {
    super({ WebSocket: NodeWebSocket, ...options });
  }
}
