import { afterEach, beforeEach, expect, test } from "bun:test";
import { settled } from "../../../client/src/testing/clock.ts";
import { Kit } from "../../../client/src/testing/kit.ts";
import type { LobbyConnection } from "./contract.ts";
import { openLobby } from "./lobby.ts";
import { roomToken } from "./testing/token.ts";

const CHANNEL = "_parley/room/r1/wait/w1";

let kit: Kit;
let lobby: LobbyConnection;
let story: unknown[];
const realWebSocket = globalThis.WebSocket;

beforeEach(async () => {
  kit = new Kit();
  Object.assign(globalThis, { WebSocket: kit.service.WebSocket });
  story = [];
  lobby = openLobby({ connect: { url: "wss://service/v1", token: roomToken("r1", "w1") } });
  for (const event of ["admitted", "declined", "hosts", "ended"] as const)
    lobby.on(event, (...args: unknown[]) => story.push([event, ...args]));
  await settled();
  await kit.service.socket.welcome();
  await kit.service.socket.ack("subscribe");
});

afterEach(() => {
  lobby.close();
  kit.restore();
  globalThis.WebSocket = realWebSocket;
});

const message = (from: string, data: object): Promise<void> =>
  kit.service.socket.receive({ type: "message", channel: CHANNEL, from, data });

test("the answer is the service's", async () => {
  await message("eve", { notice: "admitted" });
  await message("eve", { notice: "hosts", inside: true });
  await message("service", { notice: "hosts", inside: false });
  await message("service", { notice: "declined", reason: "time", text: "full" });
  await message("service", { notice: "declined", retryAfterSec: 60 });
  await message("service", { notice: "admitted" });
  expect(story).toEqual([
    ["hosts", false],
    ["declined", { is: "declined", reason: "time", text: "full" }],
    ["declined", { is: "declined", retryAfterSec: 60 }],
    ["admitted"],
  ]);
});

test("a place that is over ends once", async () => {
  kit.service.refuses(401, "token_expired");
  await kit.service.socket.end();
  await kit.comesBack();
  await kit.service.socket.end();
  await kit.clock.advance(30_000);
  expect(story).toEqual([["ended"]]);
});

test("a lost connection keeps the place, and is noticed", async () => {
  lobby.on("online", (isOnline) => story.push(["online", isOnline]));
  await kit.reconnected();
  await kit.service.socket.ack("subscribe");
  await message("service", { notice: "admitted" });
  expect(story).toEqual([["online", false], ["online", true], ["admitted"]]);
});

test("after leaving nothing is shown", async () => {
  lobby.close();
  expect(kit.service.socket.closedWith).toBe(1000);
  expect(story).toEqual([]);
});
