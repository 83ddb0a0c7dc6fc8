/**
 * The part of the client that keeps subscriptions and connections. Its types do not show it, so another version is refused at the start;
 * package.json has the version exact.
 */
import { NatsSocket } from "./socket.ts";

/** What is needed of it. */
export interface NatsProtocol<Subscription> {
  /** The handshake is done, and the connection is not known to be lost. All subscriptions are sent when it becomes true. */
  readonly connected: boolean;
  /** Another one for each connection. */
  readonly transport: NatsSocket;
  readonly parser: { readonly state: number; parse(bytes: Uint8Array): void };
  readonly subscriptions: {
    add(subscription: Subscription): void;
    get(sid: number): Subscription | undefined;
    cancel(subscription: Subscription): void;
  };
  flush(): Promise<void>;
}

export function protocolOf<Subscription>(connection: object): NatsProtocol<Subscription> {
  const { protocol } = connection as { readonly protocol?: Partial<NatsProtocol<Subscription>> };
  const { subscriptions, parser } = protocol ?? {};
  const methods = [protocol?.flush, parser?.parse, subscriptions?.add, subscriptions?.get, subscriptions?.cancel];
  const isKnown =
    methods.every((method) => typeof method === "function") &&
    typeof protocol?.connected === "boolean" &&
    typeof parser?.state === "number" &&
    protocol.transport instanceof NatsSocket;
  if (!isKnown) throw new Error("this version of the NATS client is not supported");
  return protocol as NatsProtocol<Subscription>;
}
