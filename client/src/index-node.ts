/**
 * What Node imports as `parley-client`. Node 20 has no WebSocket of its own: that of the package `ws` is used if it is installed.
 * Not by an import, which would fail without it, and not by a top-level await, with which `require()` could not load the package.
 */
import { createRequire } from "node:module";
import type { WebSocketClass } from "./connection/options.ts";
import { type ParleyOptions, Parley as PlainParley } from "./parley.ts";

export * from "./index.ts";

export class Parley extends PlainParley {
  constructor(options: ParleyOptions) {
    super(globalThis.WebSocket ? options : { WebSocket: ofPackage(), ...options });
  }
}

function ofPackage(): WebSocketClass | undefined {
  try {
    return createRequire(import.meta.url)("ws");
  } catch {
    return undefined;
  }
}
