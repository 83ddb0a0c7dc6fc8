/** The suite of all transports: the rules of transport.ts. */
import { afterEach, describe, expect, test } from "bun:test";
import { until as polled } from "../../../test/support/wait.ts";
import { PAYLOAD_MIN_BYTES, SUBJECT_MAX_CHARS, type Transport, type TransportEvents } from "../transport/transport.ts";

const FLUSHES = 3;
const WAIT_MS = 15_000;

/** What is needed to test a transport. */
export interface TransportUnderTest {
  connect(): Promise<Transport>;
  /** Disconnects all transports. */
  startOutage(): Promise<void> | void;
  endOutage(): Promise<void> | void;
}

/** A transport with a record of its events. */
interface Recorded {
  readonly transport: Transport;
  readonly events: string[];
}

function record(transport: Transport): Recorded {
  const events: string[] = [];
  const listed: TransportEvents = {
    down: () => events.push("down"),
    up: () => events.push("up"),
    noResponders: (replyTo) => events.push(`no responders: ${replyTo}`),
    receiverFailed: (error) => events.push(`receiver failed: ${(error as Error).message}`),
    failed: (error) => events.push(`failed: ${(error as Error).message}`),
  };
  transport.on(listed);
  return { transport, events };
}

const until = (condition: () => boolean): Promise<unknown> => polled("the condition holds", condition, WAIT_MS);

const textOf = (payload: Uint8Array): string => new TextDecoder().decode(payload);

export function transportSuite(name: string, { connect, startOutage, endOutage }: TransportUnderTest): void {
  describe(name, () => {
    const open: Transport[] = [];
    const node = async (): Promise<Recorded> => {
      const recorded = record(await connect());
      open.push(recorded.transport);
      return recorded;
    };
    const pair = async (): Promise<[Recorded, Recorded]> => [await node(), await node()];
    /** A response to a response: each round takes everything one hop further. */
    const settle = async (): Promise<void> => {
      for (let round = 0; round < FLUSHES; round++) for (const transport of open) await transport.flush();
    };
    afterEach(async () => {
      for (const transport of open.splice(0)) await transport.close();
    });

    test("is connected, with a payload limit of at least the minimum", async () => {
      const { transport } = await node();
      expect(transport.isUp).toBeTrue();
      expect(transport.maxPayloadBytes).toBeGreaterThanOrEqual(PAYLOAD_MIN_BYTES);
    });

    test("delivers to every subscriber of a subject in order, also across subjects, and not to the publisher", async () => {
      const [a, b] = await pair();
      const c = await node();
      const received: string[][] = [[], [], []];
      for (const [at, { transport }] of [a, b, c].entries())
        for (const subject of ["s.1", "s.2"])
          transport.subscribe(subject, (payload) => received[at]?.push(textOf(payload)));
      await settle();
      const payloads = Array.from({ length: 50 }, (_, i) => `${i} €`);
      for (const [i, payload] of payloads.entries()) a.transport.publish(i % 3 === 0 ? "s.2" : "s.1", payload);
      await settle();
      expect(received).toEqual([[], payloads, payloads]);
    });

    test("delivers a payload of the largest size unchanged", async () => {
      const [a, b] = await pair();
      const largest = new Uint8Array(a.transport.maxPayloadBytes).map((_, i) => i % 256);
      const received: Uint8Array[] = [];
      b.transport.subscribe("s", (payload) => received.push(payload.slice()));
      await settle();
      a.transport.publish("s", largest);
      await settle();
      expect(received).toHaveLength(1);
      expect(Buffer.compare(received[0] ?? new Uint8Array(), largest)).toBe(0);
    });

    test("delivers nothing after a subscription has ended", async () => {
      const [a, b] = await pair();
      const received: string[] = [];
      const subscription = b.transport.subscribe("s", (payload) => received.push(textOf(payload)));
      await settle();
      a.transport.publish("s", "1");
      await settle();
      subscription.end();
      await settle();
      a.transport.publish("s", "2");
      await settle();
      expect(received).toEqual(["1"]);
    });

    test("a request reaches a subscriber with its reply subject, and responses come back to a wildcard", async () => {
      const [a, b] = await pair();
      const responses: string[] = [];
      b.transport.subscribe("question", (payload, _subject, replyTo) => {
        for (const part of [1, 2]) b.transport.publish(replyTo ?? "", `${textOf(payload)} ${part}`);
      });
      await settle();
      // The subscription is made just before the request: it must be in effect.
      a.transport.subscribe("reply.a.*", (payload, subject) => responses.push(`${subject}: ${textOf(payload)}`));
      a.transport.publish("question", "x", "reply.a.7");
      await settle();
      expect(responses).toEqual(["reply.a.7: x 1", "reply.a.7: x 2"]);
      expect(a.events).toEqual([]);
    });

    test("a request without a subscriber is reported as one", async () => {
      const [a] = await pair();
      const received: string[] = [];
      a.transport.subscribe("reply.a.*", (payload) => received.push(textOf(payload)));
      a.transport.publish("question", "x", "reply.a.7");
      a.transport.publish("question", "y");
      await settle();
      expect([a.events, received]).toEqual([["no responders: reply.a.7"], []]);
    });

    test("a receiver that throws is reported, and later payloads are delivered", async () => {
      const [a, b] = await pair();
      const received: string[] = [];
      b.transport.subscribe("s", (payload) => {
        if (textOf(payload) === "1") throw new Error("thrown");
        received.push(textOf(payload));
      });
      await settle();
      for (const payload of ["1", "2"]) a.transport.publish("s", payload);
      await settle();
      expect([b.events, received]).toEqual([["receiver failed: thrown"], ["2"]]);
    });

    test("a subject above the limit is not sent and is reported, and the transport stays up", async () => {
      const [a, b] = await pair();
      const received: string[] = [];
      b.transport.subscribe("s", (payload) => received.push(textOf(payload)));
      await settle();
      const long = `s.${"x".repeat(SUBJECT_MAX_CHARS)}`;
      a.transport.publish(long, "1");
      a.transport.publish("s", "2", long);
      a.transport.publish("s", "3");
      await settle();
      expect([received, a.events.length, a.transport.isUp]).toEqual([["3"], 2, true]);
    });

    test("an outage is reported, what is published meanwhile is dropped, and subscriptions are restored", async () => {
      const [a, b] = await pair();
      const received: string[] = [];
      b.transport.subscribe("s", (payload) => received.push(textOf(payload)));
      await settle();
      await startOutage();
      await until(() => !a.transport.isUp && !b.transport.isUp);
      a.transport.publish("s", "during");
      await endOutage();
      await until(() => a.transport.isUp && b.transport.isUp);
      // Until the server has read the restored subscription, which comes over another connection than the text.
      await settle();
      a.transport.publish("s", "after");
      await settle();
      expect(received).toEqual(["after"]);
      for (const { events } of [a, b]) expect(events).toEqual(["down", "up"]);
    });

    test("drain sends what was published and receives what has arrived, and calls after it have no effect", async () => {
      const [a, b] = await pair();
      const received: string[] = [];
      b.transport.subscribe("s", (payload) => received.push(textOf(payload)));
      await settle();
      a.transport.publish("s", "1");
      await a.transport.drain();
      a.transport.publish("s", "2");
      a.transport.subscribe("s", () => undefined).end();
      await b.transport.flush();
      await a.transport.close();
      expect([received, a.events]).toEqual([["1"], []]);
    });
  });
}
