/**
 * Turns what happens on this node into events of the live tail, for those that a reader wants. Nothing is built for the others. Events in
 * rooms are those of the application, without payloads: what participants say is not for operators.
 */
import { appOfSpace, isRoomSpace, type SpaceId } from "../../base/ids.ts";
import { type Code, wireCode } from "../../protocol/codes.ts";
import { kindBit, type TailEvent } from "../../telemetry/tail/event.ts";
import type { Tail } from "../../telemetry/tail/tail.ts";
import type { RealtimeListener, RefusedConnect } from "../events/events.ts";
import { shownCode, shownOrigin } from "../events/refusals.ts";
import type { Connection } from "../state/connection.ts";

const CONNECT = kindBit("connect");
const REFUSE = kindBit("refuse");
const SUBSCRIBE = kindBit("subscribe");
const UNSUBSCRIBE = kindBit("unsubscribe");
const PUBLISH = kindBit("publish");
const SEND = kindBit("send");
const PRESENCE = kindBit("presence");
const ERROR = kindBit("error");
const CLOSE = kindBit("close");
const STATE = kindBit("state");
const RENEW = kindBit("renew");

export class TailSource implements RealtimeListener {
  constructor(
    private readonly tail: Tail,
    private readonly nodeId: string,
    private readonly nowMs: () => number,
  ) {}

  connected(connection: Connection): void {
    if (!this.selects(CONNECT, connection, undefined)) return;
    this.write("connect", { ...of(connection), address: connection.address });
  }

  refused({ code, app, keyId, peerId, address, origin }: RefusedConnect): void {
    if (!this.tail.select(REFUSE, app, undefined, peerId, undefined, keyId)) return;
    this.write("refuse", { app, peerId, keyId, address, origin: shownOrigin(origin), code: shownCode(code) });
  }

  subscribed(connection: Connection, channel: string): void {
    if (this.selects(SUBSCRIBE, connection, channel)) this.write("subscribe", { ...of(connection), channel });
  }

  unsubscribed(connection: Connection, channel: string): void {
    if (this.selects(UNSUBSCRIBE, connection, channel)) this.write("unsubscribe", { ...of(connection), channel });
  }

  published(
    spaceId: SpaceId,
    channel: string,
    from: string,
    dataJson: string,
    connection: Connection | undefined,
  ): void {
    const app = appOfSpace(spaceId);
    if (!this.tail.select(PUBLISH, app, channel, from, undefined, connection?.keyId)) return;
    const fields = {
      app,
      channel,
      peerId: from,
      keyId: connection?.keyId,
      connectionId: connection?.id,
    };
    this.write(
      "publish",
      { ...fields, bytes: Buffer.byteLength(dataJson) },
      isRoomSpace(spaceId) ? undefined : dataJson,
    );
  }

  sent(spaceId: SpaceId, to: string, from: string, dataJson: string, connection: Connection | undefined): void {
    const app = appOfSpace(spaceId);
    if (!this.tail.select(SEND, app, undefined, from, to, connection?.keyId)) return;
    const fields = {
      app,
      peerId: from,
      to,
      keyId: connection?.keyId,
      connectionId: connection?.id,
    };
    this.write("send", { ...fields, bytes: Buffer.byteLength(dataJson) }, isRoomSpace(spaceId) ? undefined : dataJson);
  }

  presence(spaceId: SpaceId, channel: string, peerId: string, change: "joined" | "left"): void {
    const app = appOfSpace(spaceId);
    if (!this.tail.select(PRESENCE, app, channel, peerId, undefined, undefined)) return;
    this.write("presence", { app, channel, peerId, change });
  }

  stateSet(connection: Connection, channel: string, stateJson: string): void {
    if (!this.selects(STATE, connection, channel)) return;
    const shown = connection.seat ? undefined : stateJson;
    this.write("state", { ...of(connection), channel, bytes: Buffer.byteLength(stateJson) }, shown);
  }

  renewed(connection: Connection): void {
    if (this.selects(RENEW, connection, undefined)) this.write("renew", of(connection));
  }

  failed(connection: Connection, code: Code, channel: string | undefined): void {
    if (!this.selects(ERROR, connection, channel)) return;
    this.write("error", { ...of(connection), channel, code: wireCode(code) });
  }

  closed(connection: Connection, code: number): void {
    if (this.selects(CLOSE, connection, undefined)) this.write("close", { ...of(connection), code });
  }

  private selects(kind: number, { peer, peerId, keyId }: Connection, channel: string | undefined): boolean {
    return this.tail.select(kind, peer.space.owner, channel, peerId, undefined, keyId);
  }

  private write(kind: TailEvent["kind"], fields: Fields, dataJson?: string): void {
    const event: TailEvent = { at: this.nowMs(), kind, ...fields, nodeId: this.nodeId };
    this.tail.write(JSON.stringify(event), fields.app, dataJson);
  }
}

type Fields = Omit<TailEvent, "at" | "kind" | "nodeId">;

const of = (connection: Connection) => ({
  app: connection.peer.space.owner,
  peerId: connection.peerId,
  keyId: connection.keyId,
  connectionId: connection.id,
});
