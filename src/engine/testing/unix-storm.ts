/**
 * For tests: a worker that writes and reads without a pause until it is killed. `bun unix-storm.ts FOLDER SLOT SLOTS`. It publishes
 * numbered payloads of all lengths on "storm", subscribes to ever new subjects and ends the subscriptions again, and exits by itself only if
 * something that it reads is not whole.
 */
import { NO_EVENTS } from "../transport/transport.ts";
import { UnixTransport } from "../transport/unix.ts";
import { isWhole, payloadOf } from "./numbered-payload.ts";

const PER_TURN = 20;
const KEPT = 50;
const TURNS_PER_FLUSH = 5;
const LONGEST = 20_000;

const [folder = "", slot = "", slots = ""] = process.argv.slice(2);
const transport = await UnixTransport.join({ folder, slot: Number(slot), slots: Number(slots) });
transport.on({ ...NO_EVENTS, subscribed: (subject, report) => report(payloadOf(subject, 0, 100)) });
const check = (payload: Uint8Array): void => {
  if (isWhole(new TextDecoder().decode(payload))) return;
  console.error("a payload is not whole");
  process.exit(3);
};
transport.subscribe("answers", check);
const name = crypto.randomUUID();
const kept: { end(): void }[] = [];
console.log("ready");
for (let n = 0, turn = 0; ; turn++) {
  for (let i = 0; i < PER_TURN; i++, n++) {
    transport.publish("storm", payloadOf(name, n, Math.floor(Math.random() ** 4 * LONGEST)));
    kept.push(transport.subscribe(`${name}.${n}`, check, true));
    if (kept.length > KEPT) kept.shift()?.end();
  }
  if (turn % TURNS_PER_FLUSH === 0) await transport.flush();
  else await new Promise((resolve) => setImmediate(resolve));
}
