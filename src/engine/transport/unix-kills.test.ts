/** Workers that are killed while they write, read and subscribe: the others read nothing torn, twice or out of order, and go on. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { IS_FULL } from "../../../test/support/slack.ts";
import { until } from "../../../test/support/wait.ts";
import { isWhole, numberOf, payloadOf } from "../testing/numbered-payload.ts";
import { NO_EVENTS } from "./transport.ts";
import { UnixTransport } from "./unix.ts";

setDefaultTimeout(600_000);

const KILLS = IS_FULL ? 1000 : 15;
const LIFE_MAX_MS = 25;
const SLOTS = 3;
const STORM = join(import.meta.dir, "../testing/unix-storm.ts");

const folder = mkdtempSync(join(tmpdir(), "unix-kills-"));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test(`${KILLS} kills at random instants`, async () => {
  const problems: string[] = [];
  let [received, reports] = [0, 0];
  const witness = async (slot: number): Promise<UnixTransport> => {
    const last = new Map<string, number>();
    const transport = await UnixTransport.join({ folder, slot, slots: SLOTS });
    transport.on({
      ...NO_EVENTS,
      down: () => problems.push(`worker ${slot} was down`),
      receiverFailed: (error) => problems.push(`worker ${slot}: ${error}`),
      failed: (error) => problems.push(`worker ${slot}: ${error}`),
      subscribed: (subject, report) => {
        reports++;
        report(payloadOf(subject, reports, reports % 6000));
      },
    });
    transport.subscribe("storm", (payload) => {
      const text = new TextDecoder().decode(payload);
      const { name, n } = numberOf(text);
      const before = last.get(name) ?? n - 1;
      if (!isWhole(text)) problems.push(`worker ${slot} has read a torn payload`);
      if (n !== before + 1) problems.push(`worker ${slot} has read ${n} after ${before}`);
      last.set(name, n);
      received++;
      transport.publish("answers", text);
    });
    return transport;
  };
  const witnesses = [await witness(0), await witness(1)];
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      const storm = Bun.spawn([process.execPath, "--no-env-file", STORM, folder, "2", String(SLOTS)], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      await storm.stdout.getReader().read();
      await Bun.sleep(Math.random() * LIFE_MAX_MS);
      storm.kill("SIGKILL");
      await storm.exited;
      if (storm.signalCode !== "SIGKILL") problems.push(`the killed worker had ended by itself with ${storm.exitCode}`);
      await until(
        "its subscriptions are forgotten",
        () => !witnesses.some((one) => one.hasSubscriber("answers")),
        30_000,
      );
      expect(problems).toEqual([]);
    }
    // What was tried must have happened.
    expect(Math.min(received, reports)).toBeGreaterThan(KILLS);
    // The survivors still hear each other.
    const heard = Promise.withResolvers<string>();
    witnesses[1]?.subscribe("last", (payload) => heard.resolve(new TextDecoder().decode(payload)));
    await witnesses[1]?.flush();
    witnesses[0]?.publish("last", "still here");
    expect(await heard.promise).toBe("still here");
  } finally {
    for (const one of witnesses) await one.close();
  }
});
