/**
 * The contract of a transport: it carries payloads between the nodes of one installation. The node protocol (cluster/) runs on top
 * of it and repairs what a transport loses, so a transport needs no memory and no acknowledgements. nats.ts and unix.ts are transports; the suite
 * of all transports is testing/transport.suite.ts.
 *
 * Order and loss
 * - A transport MAY lose payloads. It MUST NOT deliver a payload twice or change one.
 * - What one node publishes MUST reach another node in the order of the `publish` calls, also across subjects: the protocol
 *   subscribes, then asks for the state of a channel, and relies on the response coming before later messages of the channel.
 * - `subscribe` MUST take effect before a later `publish` of the same node: responses to that publish are received.
 * - A node MUST NOT receive what it has published itself.
 *
 * Publishing
 * - `publish` MUST NOT wait and MUST NOT throw. While the transport is down or closing, it drops the payload silently: a payload
 *   that is sent after an outage would arrive behind newer ones. Any other error goes to `events.failed`.
 * - The caller MUST NOT pass a payload above `maxPayloadBytes` or a subject above `SUBJECT_MAX_CHARS`. The transport MUST drop
 *   such a subject and report it to `events.failed`, because a server may close the connection over it.
 *
 * Requests
 * - A request is a publish with a `replyTo` subject, to which the requesting node is subscribed. Any number of nodes may respond,
 *   each with any number of payloads. The caller handles timeouts.
 * - When no node is subscribed to the subject of a request, the transport MUST call `events.noResponders` with its `replyTo`.
 *   The event MAY fire although another node has just subscribed.
 *
 * Receiving
 * - Callbacks run one after another, never concurrently. An error thrown by one MUST be caught, reported to `events.receiverFailed`,
 *   and MUST NOT stop later deliveries.
 * - The payload passed to a callback MAY be a view into a buffer that is reused: the receiver copies what it keeps.
 *
 * Up and down
 * - The transport reconnects by itself without a limit, and restores its subscriptions before it calls `events.up`.
 * - `events.down` and `events.up` MUST alternate, beginning with `down`: transports are created connected. `isUp` and
 *   `maxPayloadBytes` are current when they are called.
 */

/** Every transport accepts subjects of this length. Node-protocol subjects are far shorter. */
export const SUBJECT_MAX_CHARS = 1536;

/** Smallest payload limit of a transport: with less, fragments would consist mostly of their headers. */
export const PAYLOAD_MIN_BYTES = 1024;

/** Where an error happened, for the log. */
export type FaultContext = Readonly<Record<string, unknown>>;

export interface TransportEvents {
  down(): void;
  up(): void;
  /** No node is subscribed to the subject of the request that had this reply subject. */
  noResponders(replyTo: string): void;
  /** A receiver has thrown: the payload is lost. */
  receiverFailed(error: unknown, context: FaultContext): void;
  /** Any other error that was caught. */
  failed(error: unknown, context: FaultContext): void;
  /**
   * Only where `reports`: another node has subscribed to this subject, and reads what is reported to it before all that is published there later.
   * `report` has no effect after this call.
   */
  subscribed?(subject: string, report: (payload: string) => void): void;
  /** Only where `reports`: another node has read of further subscriptions, and has reported what it has. `hasReportFrom` knows which. */
  reported?(): void;
}

const nothing = (): void => undefined;

/** Until `Transport.on` is called. */
export const NO_EVENTS: TransportEvents = {
  down: nothing,
  up: nothing,
  noResponders: nothing,
  receiverFailed: nothing,
  failed: nothing,
};

export type Receiver = (payload: Uint8Array, subject: string, replyTo: string | undefined) => void;

export interface TransportSubscription {
  /** Nothing is received after this call. MUST NOT throw. */
  end(): void;
  /** Only where `isDirect`, for a `tracked` subscription: the nodes that are subscribed to this subject are known to have read of this subscription. */
  isKnownTo?(subject: string): boolean;
  /** Only where `reports`, for a `tracked` subscription: the nodes that are subscribed to this subject have reported what they have, or have nothing. */
  hasReportFrom?(subject: string): boolean;
}

export interface Transport {
  readonly isUp: boolean;
  /** At least PAYLOAD_MIN_BYTES. It may change while the transport is up, so it is read for each payload. */
  readonly maxPayloadBytes: number;
  /**
   * Every loss of payloads is followed by `down` and `up` at the node that published them, unless their receiver is gone. Then the node
   * protocol need not repeat the last sequence number of each idle channel to find losses.
   */
  readonly reportsLosses?: boolean;
  /** A node that publishes has to read of a subscription itself, and does so late if it is busy. Absent: servers know of it at once. */
  readonly isDirect?: boolean;
  /** Only processes of this build can publish, so that payloads need not be checked. Absent: anyone may who reaches the servers. */
  readonly isPrivate?: boolean;
  /** A node that reads of a tracked subscription reports to the subscriber at once what it has, so that it need not be asked. Absent: it does not. */
  readonly reports?: boolean;
  /**
   * Sets the only listener. MUST be called once, before anything else. It is not an argument of the constructor, because the engine
   * that listens is built on a connected transport.
   */
  on(events: TransportEvents): void;
  publish(subject: string, payload: string | Uint8Array, replyTo?: string): void;
  /**
   * Tokens of a subject are separated by dots. `*` as the last token stands for any one token. After `close` it has no effect. `isTracked`:
   * `isKnownTo` and `hasReportFrom` will be asked.
   */
  subscribe(subject: string, receive: Receiver, isTracked?: boolean): TransportSubscription;
  /** Whether another node is subscribed to this subject, as far as is known here. Absent: only the servers know. */
  hasSubscriber?(subject: string): boolean;
  /** Resolves when everything published has reached the servers, and everything that they held for this node was received. */
  flush(): Promise<void>;
  /** Ends the subscriptions, receives what has already arrived, sends what was published, and closes. */
  drain(): Promise<void>;
  /** Closes at once. MAY be called twice and after `drain`. */
  close(): Promise<void>;
}
