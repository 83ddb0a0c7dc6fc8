/** Which parts follow connections, rosters and the keyring, in which order: they are built after what they follow. */
import type { Keyring } from "../../access/keys/keyring.ts";
import type { RoomSeat } from "../../access/tokens/room-token.ts";
import { roomSpaceOf } from "../../base/ids.ts";
import { PUT_OUT } from "../../protocol/put-out.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import { safely } from "../../telemetry/safely.ts";
import type { RoomHooks } from "../connections/room-hooks.ts";
import type { Connection } from "../state/connection.ts";
import type { ConnectionsBuilt } from "./connections.ts";
import type { ControlBuilt } from "./control.ts";
import type { PresenceBuilt } from "./presence.ts";
import type { StateBuilt } from "./state.ts";
import type { StreamsBuilt } from "./streams.ts";
import type { SubscriptionsBuilt } from "./subscriptions.ts";

export interface FollowOutside {
  readonly keyring: Keyring;
  /** Decides about people in rooms. */
  readonly roomHooks: RoomHooks;
  readonly faults: FaultLog;
}

export function followConnections(
  { roomHooks, faults }: FollowOutside,
  { connections, deadlines, liveness }: ConnectionsBuilt,
  { presence }: PresenceBuilt,
  { channels, inSight }: SubscriptionsBuilt,
  { expectedBack }: ControlBuilt,
): void {
  // In this order: subscriptions end before anything else of their connection is forgotten.
  for (const observer of [channels, inSight, deadlines, liveness, expectedBack]) connections.observe(observer);
  const leftRoom = ({ id, departure }: Connection, seat: RoomSeat): void =>
    safely(faults, "socket", () => roomHooks.disconnected(seat, id, departure));
  connections.observe({
    disconnected: (connection) => connection.seat && leftRoom(connection, connection.seat),
  });
  presence.returns.onReturned((peer) => expectedBack.returned(peer));
}

export function followKeyring(
  { keyring }: FollowOutside,
  { spaces }: StateBuilt,
  { streamRules }: StreamsBuilt,
  { channels }: SubscriptionsBuilt,
  { kicks, keyChanges }: ControlBuilt,
): void {
  // Participants of its rooms have no key that would be revoked.
  keyring.onDeletion((app) => {
    for (const peer of [...(spaces.get(roomSpaceOf(app))?.peers.keys() ?? [])])
      kicks.kickHere(roomSpaceOf(app), peer, PUT_OUT.ended);
  });
  keyring.onRulesChange((app) => channels.rulesChanged(app));
  keyring.onRulesChange((app) => streamRules.apply(app));
  keyring.onChange((keyId) => keyChanges.apply(keyId));
}
