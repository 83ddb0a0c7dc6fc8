/** The SDK's two clients, each with a record of its events. */
import {
  type ChannelMessage,
  type DirectMessageEvent,
  MeteredPeer,
  type MeteredPeerEventMap,
  type MeteredPeerOptions,
  type RemotePeer,
  SignallingClient,
  type SignallingClientEventMap,
} from "@metered-ca/realtime";
import { InertPeerConnection } from "./rtc.ts";
import type { Wire } from "./wire.ts";

type Options = Omit<MeteredPeerOptions, "webSocketFactory" | "rtcPeerConnectionFactory">;

/** A SignallingClient. */
export class Caller {
  readonly client: SignallingClient;
  readonly connects: SignallingClientEventMap["connected"][] = [];
  readonly disconnects: SignallingClientEventMap["disconnected"][] = [];
  readonly goingAway: SignallingClientEventMap["going-away"][] = [];
  readonly messages: ChannelMessage[] = [];
  readonly directs: DirectMessageEvent[] = [];

  constructor(
    options: Options,
    readonly wire: Wire,
    changed: () => void,
  ) {
    this.client = new SignallingClient({ ...options, webSocketFactory: wire.open });
    const keep =
      <T>(list: T[]) =>
      (event: T): void => {
        list.push(event);
        changed();
      };
    this.client.on("connected", keep(this.connects));
    this.client.on("disconnected", keep(this.disconnects));
    this.client.on("going-away", keep(this.goingAway));
    this.client.on("message", keep(this.messages));
    this.client.on("direct", keep(this.directs));
    this.client.on("state-change", changed);
  }

  /** The peer id of its newest connection. */
  get id(): string {
    return this.connects.at(-1)?.peerId ?? "";
  }

  close(): Promise<void> {
    return this.client.close();
  }
}

/** A MeteredPeer. */
export class Member {
  readonly peer: MeteredPeer;
  readonly joined: RemotePeer[] = [];
  readonly left: RemotePeer[] = [];
  readonly data: MeteredPeerEventMap["data"][] = [];
  readonly errors: Error[] = [];
  /** What the SDK would pass to each RTCPeerConnection. */
  readonly rtcConfigurations: unknown[] = [];

  constructor(
    options: Options,
    readonly wire: Wire,
    changed: () => void,
  ) {
    this.peer = new MeteredPeer({
      ...options,
      webSocketFactory: wire.open,
      rtcPeerConnectionFactory: (configuration) => {
        this.rtcConfigurations.push(configuration);
        return new InertPeerConnection();
      },
    });
    const keep =
      <E, T>(list: T[], part: (event: E) => T) =>
      (event: E): void => {
        list.push(part(event));
        changed();
      };
    this.peer.on(
      "peer-joined",
      keep(this.joined, ({ peer }) => peer),
    );
    this.peer.on(
      "peer-left",
      keep(this.left, ({ peer }) => peer),
    );
    this.peer.on(
      "data",
      keep(this.data, (event) => event),
    );
    this.peer.on(
      "error",
      keep(this.errors, ({ err }) => err),
    );
    this.peer.on("state-change", changed);
  }

  get id(): string {
    return this.peer.peerId ?? "";
  }

  /** The peer ids that it knows. */
  get known(): string[] {
    return this.peer.remotePeers.map((remote) => remote.id);
  }

  close(): Promise<void> {
    return this.peer.close();
  }
}
