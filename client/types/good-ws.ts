/** The WebSocket of the package `ws` is one that the client accepts, and so is a class that extends it. */
import { Parley } from "parley-client";
import { WebSocket } from "ws";

class Proxied extends WebSocket {
  constructor(url: string) {
    super(url, { headers: { "User-Agent": "app" } });
  }
}

const service = { url: "https://parley.example.com", key: "pk_demo" };

export const parley = new Parley({ ...service, WebSocket });
export const proxied = new Parley({ ...service, WebSocket: Proxied });
