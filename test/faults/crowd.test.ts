/**
 * All clients of a node come back at once: because their links broke at the same moment, and because the node was killed. Each gets
 * what it missed, once and in order. The clients connect directly and without a limit on connects, so nothing
 * slows them down.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { tokenQuery } from "../conformance/raw/support/world.ts";
import { AckTimes } from "../support/ack-times.ts";
import type { SecretKey } from "../support/admin.ts";
import { selfSigned } from "../support/jwt.ts";
import { type Server, startParley } from "../support/parley.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { connect } from "../support/wire/connect.ts";
import { Crowds } from "./support/crowds.ts";

/** The clients are in other processes: nothing here tells how much they have received. */
const TALK_MS = 300;

setDefaultTimeout(600_000);

const IS_FULL = process.env.PARLEY_TEST_FULL === "1";
const CLIENTS = IS_FULL ? 10_000 : 300;
const PROCESSES = IS_FULL ? 4 : 2;
const EACH = CLIENTS / PROCESSES;
/** Messages per second. They go on while clients return, so that those who are late have missed some. */
const RATE = IS_FULL ? 2000 : 200;
/** It takes seconds (docs/performance.md), and longer on a machine whose cores have much else to do. */
const BACK_MS = 240_000;
const ENV = { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0", PARLEY_DEMO: "off" };
const RULES = [{ pattern: "stored/**", history: { messages: 10_000, seconds: 3600 } }];

const data = tempFolder();

/** Seconds of CPU since the start, and the largest memory so far in MiB. */
function usage({ pid }: Server): { readonly cpu: number; readonly mib: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  const peak = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return { cpu: (Number(fields[11]) + Number(fields[12])) / 100, mib: Math.round(Number(peak) / 1024) };
}

async function loopLagMs({ admin }: Server): Promise<number> {
  const { data: nodes } = await admin.must<{ data: readonly { loopLagMs: number }[] }>("GET", "/nodes");
  return nodes[0]?.loopLagMs ?? Number.NaN;
}

/** Prints what `work` costs the node, and how long another client waits for the acks of its messages meanwhile. */
async function measured(name: string, server: Server, key: SecretKey, work: Promise<unknown>): Promise<void> {
  const began = performance.now();
  const before = usage(server);
  const wire = await connect(server.url, { query: tokenQuery(selfSigned(key.keyId, key.secret, { sub: "watch" })) });
  await wire.frame("welcome");
  const acks = new AckTimes(wire, "stored/watched");
  await work;
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const after = usage(server);
  const cpu = (after.cpu - before.cpu).toFixed(1);
  const { medianMs, longestMs, errors } = await acks.stop();
  const lag = Math.round(await loopLagMs(server));
  console.log(
    `${CLIENTS} clients, ${name}: ${seconds} s, ${cpu} s of CPU, ${after.mib} MiB, longest delay of the event loop ${lag} ms, acks of another client within ${medianMs} ms (median) and ${longestMs} ms (longest)${errors.length > 0 ? `, ${errors.length} errors such as ${errors[0]}` : ""}`,
  );
}

test("all clients of a node come back at once, and each recovers", async () => {
  let server = await startParley({ env: ENV, data });
  try {
    const { _id } = await server.admin.createApp();
    await server.admin.must("PATCH", `/apps/${_id}`, { channelRules: RULES });
    const key = await server.admin.createKey(_id);
    const { port, host } = new URL(server.url);
    await using crowds = await Crowds.start(PROCESSES);
    const options = { urls: [`ws://${host}`], secretKey: key.credential, prefix: "stored", history: true };
    const share = { clients: EACH, channels: Math.max(1, EACH / 20), rate: RATE / PROCESSES };
    await measured("first connect", server, key, crowds.ask({ do: "open", options: { ...options, ...share } }));

    await crowds.ask({ do: "talk" });
    await Bun.sleep(TALK_MS);
    await crowds.ask({ do: "cut" });
    await measured("back after a cut of all links", server, key, crowds.ask({ do: "return", withinMs: BACK_MS }));

    await server.kill("SIGKILL");
    server = await startParley({ env: ENV, data, port });
    await measured("back after kill -9", server, key, crowds.ask({ do: "return", withinMs: BACK_MS }));

    await crowds.ask({ do: "hush" });
    const reports = await crowds.ask({ do: "settle", withinMs: BACK_MS });
    const sum = (name: "recoveries" | "unrecovered" | "replayed" | "acked" | "deliveries"): number =>
      reports.reduce((total, { figures }) => total + figures[name], 0);
    console.log(
      `${sum("recoveries")} recoveries, ${sum("unrecovered")} of them not recovered, ${sum("replayed")} messages replayed; ${sum("acked")} acked, ${sum("deliveries")} deliveries`,
    );
    expect(reports.flatMap(({ problems }) => problems)).toEqual([]);
    expect({ recoveries: sum("recoveries"), unrecovered: sum("unrecovered") }).toEqual({
      recoveries: 2 * CLIENTS,
      unrecovered: 0,
    });
    expect(sum("replayed")).toBeGreaterThan(CLIENTS / 10);
    await crowds.ask({ do: "close" });
  } finally {
    await server.stop();
    removeFolder(data);
  }
});
