/** `parley-client/node`: the same client for Node 20, which has no WebSocket of its own. It needs the package `ws`. */
import { WebSocket as NodeWebSocket } from "ws";
import { type ParleyOptions, Parley as PlainParley } from "./parley.ts";

export * from "./index.ts";

export class Parley extends PlainParley {
  constructor(options: ParleyOptions) {
    super({ WebSocket: NodeWebSocket, ...options });
  }
}
