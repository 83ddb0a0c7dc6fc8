/** The WebSocket of the DOM's types is one that the client accepts. */
import { Parley } from "parley-client";

export const parley = new Parley({ url: "https://parley.example.com", key: "pk_demo", WebSocket });
