/** The connection of a page that waits in the lobby of a room. */
import { Parley } from "../../../client/src/parley.ts";
import { waitChannel } from "../../../src/protocol/room-channels.ts";
import { Listeners } from "../call/listeners.ts";
import type { LobbyConnection, LobbyEvents, LobbyOpening } from "./contract.ts";
import { isFinalRefusal } from "./ending.ts";
import { lobbyNoticeOf } from "./notices.ts";
import { claimsOf, serviceOf } from "./token.ts";

export function openLobby({ connect }: LobbyOpening): LobbyConnection {
  const listeners = new Listeners<LobbyEvents>();
  let isOver = false;
  let isOnline = false;
  // There is no second token for a place: when this one is refused, the place is over.
  const parley = new Parley({
    url: serviceOf(connect.url),
    token: ({ reason }) => (reason === "connect" ? connect.token : null),
  });
  const close = (): void => {
    isOver = true;
    parley.close();
  };
  const end = (): void => {
    if (isOver) return;
    close();
    listeners.emit("ended");
  };
  parley.on("status", ({ state, error }) => {
    if (state === "closed" || (error && isFinalRefusal(error))) return end();
    if (isOnline === (state === "connected")) return;
    isOnline = !isOnline;
    listeners.emit("online", isOnline);
  });
  const { room, id: waitId } = claimsOf(connect.token);
  const channel = parley.channel(waitChannel(room, waitId));
  channel.on("error", end);
  channel.on("message", (message) => {
    const notice = lobbyNoticeOf(message);
    if (!notice || isOver) return;
    if (notice.is === "admitted") listeners.emit("admitted");
    else if (notice.is === "hosts") listeners.emit("hosts", notice.inside);
    else listeners.emit("declined", notice);
  });
  return { on: (event, listener) => listeners.on(event, listener as never), close };
}
