/**
 * For tests: a worker in a process of its own, which can be killed. `bun unix-worker.ts FOLDER SLOT SLOTS`. It answers requests on
 * "echo", and on "burst" publishes the given number of payloads on "bursts" and kills itself.
 */
import { UnixTransport } from "../transport/unix.ts";

const [folder = "", slot = "", slots = ""] = process.argv.slice(2);
const transport = await UnixTransport.join({ folder, slot: Number(slot), slots: Number(slots) });
const text = (payload: Uint8Array): string => new TextDecoder().decode(payload);
transport.subscribe("echo", (payload, _subject, replyTo) => transport.publish(replyTo ?? "", text(payload)));
transport.subscribe("burst", (payload) => {
  for (let i = 0; i < Number(text(payload)); i++) transport.publish("bursts", `${i} `.padEnd(200, "x"));
  // After the turn in which it is written.
  setImmediate(() => setImmediate(() => process.kill(process.pid, "SIGKILL")));
});
await transport.flush();
console.log("ready");
