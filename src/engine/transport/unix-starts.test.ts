/** A worker that starts finds all others before it serves clients, also if one is busy or another program has removed its file. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, readFileSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../../test/support/wait.ts";
import { UnixFolder } from "../testing/unix-folder.ts";
import { NO_EVENTS, type Transport } from "./transport.ts";
import { UnixTransport } from "./unix.ts";

const WAIT_MS = 40_000;

let folder: UnixFolder;
beforeEach(() => {
  folder = new UnixFolder();
});
afterEach(() => folder.remove());

/** What it reports from now on. */
function eventsOf(transport: Transport): string[] {
  const events: string[] = [];
  transport.on({ ...NO_EVENTS, down: () => events.push("down"), up: () => events.push("up") });
  return events;
}

const textOf = (payload: Uint8Array): string => new TextDecoder().decode(payload);

/** A busy worker has this long before its supervisor kills it; a worker that started used to wait for two seconds only. */
const BUSY_MS = 3000;
const STOPPED_MS = 200;

test("a worker that starts waits for one that does not answer, and has its subscriptions then; without an answer it does not start", async () => {
  const a = await folder.join({ slot: 0 });
  const events = eventsOf(a);
  a.subscribe("s", () => undefined);
  folder.relay(0).isSilent = true;
  let isJoined = false;
  const joining = folder.join({ slot: 1 }).finally(() => {
    isJoined = true;
  });
  await Bun.sleep(BUSY_MS);
  expect(isJoined).toBeFalse();
  folder.relay(0).isSilent = false;
  const b = await joining;
  expect(b.hasSubscriber("s")).toBeTrue();

  folder.relay(0).isSilent = true;
  const refused = folder.join({ slot: 2, joinMaxMs: 200 });
  await expect(refused).rejects.toThrow("worker 0 did not answer within 0.2 seconds");
  expect([existsSync(folder.pathOf(2)), events]).toEqual([false, []]);
});

test("a worker that starts does not wait for one that was killed meanwhile", async () => {
  const program = join(import.meta.dir, "../testing/unix-worker.ts");
  const child = Bun.spawn([process.execPath, "--no-env-file", program, folder.path, "0", "4"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const part of child.stdout) if (textOf(part).includes("ready")) break;
  child.kill("SIGSTOP");
  const joining = UnixTransport.join({ folder: folder.path, slot: 1, slots: 4 });
  await Bun.sleep(STOPPED_MS);
  child.kill("SIGKILL");
  await (await joining).close();
});

test("the kernel lists a socket under the name of its file: a program that cleans up sees that it is in use", async () => {
  const transport = await UnixTransport.join({ folder: folder.path, slot: 0, slots: 2 });
  const names = readFileSync("/proc/net/unix", "utf8").match(/\/\S+$/gm) ?? [];
  expect(names.filter((name) => name.startsWith(folder.path))).toEqual([folder.pathOf(0)]);
  await transport.close();
});

test("a worker whose socket file was removed makes it again, and one that starts meanwhile waits for it", async () => {
  const warnings: string[] = [];
  const options = { folder: folder.path, slots: 3, warn: (text: string) => void warnings.push(text) };
  const a = await UnixTransport.join({ ...options, slot: 0 });
  const b = await UnixTransport.join({ ...options, slot: 1 });
  const events = [a, b].map(eventsOf);
  for (const transport of [a, b]) transport.subscribe("s", () => undefined);
  for (const slot of [0, 1]) unlinkSync(folder.pathOf(slot));
  const c = await UnixTransport.join({ ...options, slot: 2, isServing: () => true });
  const received: string[] = [];
  c.subscribe("t", (payload) => received.push(textOf(payload)));
  await c.flush();
  for (const transport of [a, b]) transport.publish("t", "x");
  await until("both are received", () => received.length === 2, WAIT_MS);
  expect([c.hasSubscriber("s"), events]).toEqual([true, [[], []]]);
  for (const slot of [0, 1]) expect(warnings.join()).toContain(`removed ${folder.pathOf(slot)}`);
  for (const transport of [a, b, c]) await transport.close();
});
