/**
 * What it costs the service when pages record: many streams of 2 Mbit/s at a time, in parts of 2 s whose total is not known. The control is a server
 * that only writes and flushes the same parts.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { exactCpuSeconds } from "../lib/cpu-clock.ts";
import { MIB, memoryOf } from "../lib/memory.ts";
import { startParley } from "../lib/parley.ts";
import { type ServerProcess, startServer } from "../lib/process.ts";
import { keep, table } from "../lib/report.ts";
import { countParts } from "./part-counts.ts";

const STREAMS = 100;
const PART_SECONDS = 2;
const PART_BYTES = (2_000_000 / 8) * PART_SECONDS;
const WARM_SECONDS = 10;
const MEASURED_SECONDS = 40;
/** An application has at most 20 open uploads. */
const STREAMS_PER_APP = 20;
const ADMIN_TOKEN = "admin-token-of-the-benchmark-of-recordings";

/** Per cent of a core for one stream. */
const TARGET_CPU = 2;
const TARGET_GROWTH = 30 * MIB;

/** Sends the part that begins at that byte. */
type Send = (at: number) => Promise<void>;

interface Cost {
  readonly parts: number;
  readonly cpuPerPart: number;
  /** Per cent of a core for one stream at its pace. */
  readonly cpuPerStream: number;
  readonly rssAfterWarming: number;
  readonly rssMost: number;
}

const part = new Uint8Array(PART_BYTES).fill(7);

export async function stream(): Promise<boolean> {
  const counts = await countParts();
  const ours = await measureParley();
  const bare = await measureBare();
  const row = (name: string, cost: Cost): string[] => [
    name,
    String(cost.parts),
    (cost.cpuPerPart * 1e6).toFixed(0),
    cost.cpuPerStream.toFixed(2),
    (cost.rssAfterWarming / MIB).toFixed(0),
    (cost.rssMost / MIB).toFixed(0),
  ];
  console.log(
    table(
      [`${STREAMS} streams of 2 Mbit/s`, "parts", "µs CPU per part", "% of a core per stream", "RSS, MiB", "most"],
      [row("Parley, folder and SQLite", ours), row("bare server", bare)],
    ),
  );
  const per = (count: number): string => (count / counts.parts).toFixed(3);
  console.log(`\na part takes ${per(counts.statements)} statements and ${per(counts.flushes)} flushes of files`);
  const growth = ours.rssMost - ours.rssAfterWarming;
  const ratio = ours.cpuPerPart / bare.cpuPerPart;
  const holds = ours.cpuPerStream <= TARGET_CPU && growth <= TARGET_GROWTH;
  console.log(
    `${ours.cpuPerStream.toFixed(2)} % of a core per stream, ${ratio.toFixed(2)} times the bare server, target at most ${TARGET_CPU} %; memory grew by ${(growth / MIB).toFixed(0)} MiB, target at most ${TARGET_GROWTH / MIB}: ${holds ? "holds" : "MISSED"}`,
  );
  console.log(`written to ${await keep("recordings-stream", { counts, ours, bare, ratio, growth, holds })}\n`);
  return holds;
}

async function measureParley(): Promise<Cost> {
  await using server = await startParley({ settings: { PARLEY_ADMIN_TOKEN: ADMIN_TOKEN } });
  const senders: Send[] = [];
  for (let i = 0; i < STREAMS; i += STREAMS_PER_APP) senders.push(...(await openUploads(server, `bench-${i}`)));
  return await measure(server, senders);
}

async function measureBare(): Promise<Cost> {
  const folder = mkdtempSync(join(tmpdir(), "parley-bench-"));
  try {
    await using server = await startServer([join(import.meta.dir, "../controls/bare-parts.ts"), folder]);
    const sender =
      (name: number): Send =>
      async (at) =>
        await check(await fetch(`${server.url.origin}/${name}?at=${at}`, { method: "PUT", body: part }), at);
    return await measure(
      server,
      Array.from({ length: STREAMS }, (_, name) => sender(name)),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function openUploads({ url }: ServerProcess, name: string): Promise<Send[]> {
  const call = async (
    path: string,
    credential: string,
    host: string,
    body: object,
  ): Promise<Record<string, string>> => {
    const response = await fetch(url.origin + path, {
      method: "POST",
      headers: { Host: host, Authorization: `Bearer ${credential}` },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Record<string, string>;
  };
  const { secretKey = "" } = await call("/api/internal/v1/apps", ADMIN_TOKEN, url.host, { name });
  const host = `${name}.localhost:${url.port}`;
  await call("/api/v1/room", secretKey, host, { roomName: "bench" });
  const senders: Send[] = [];
  for (let i = 0; i < STREAMS_PER_APP; i++) {
    const wanted = { room: "bench", participantUsername: "bench", type: "video" };
    const { uploadUrl = "" } = await call("/api/v1/recording", secretKey, host, wanted);
    const { pathname, search } = new URL(uploadUrl);
    senders.push(async (at) => {
      const headers = { Host: host, "Content-Range": `bytes ${at}-${at + PART_BYTES - 1}/*` };
      await check(await fetch(url.origin + pathname + search, { method: "PUT", headers, body: part }), at);
    });
  }
  return senders;
}

async function check(response: Response, at: number): Promise<void> {
  const { offset } = (await response.json()) as { offset?: number };
  if (offset !== at + PART_BYTES) throw new Error(`a part was answered with ${response.status} and ${offset}`);
}

/** All streams at their pace, spread over it. */
async function measure({ pid }: ServerProcess, senders: readonly Send[]): Promise<Cost> {
  let parts = 0;
  let isOver = false;
  const began = performance.now();
  const streams = senders.map(async (send, i) => {
    const phaseMs = (i / senders.length) * PART_SECONDS * 1000;
    for (let number = 0; !isOver; number++) {
      await sleep(Math.max(0, began + phaseMs + number * PART_SECONDS * 1000 - performance.now()));
      if (isOver) return;
      await send(number * PART_BYTES);
      parts++;
    }
  });
  const failure = Promise.all(streams);
  await Promise.race([sleep(WARM_SECONDS * 1000), failure]);
  const [cpuBefore, partsBefore, rssAfterWarming] = [exactCpuSeconds(pid), parts, memoryOf(pid).rss];
  let rssMost = rssAfterWarming;
  for (let second = 0; second < MEASURED_SECONDS; second++) {
    await Promise.race([sleep(1000), failure]);
    rssMost = Math.max(rssMost, memoryOf(pid).rss);
  }
  const [cpu, measured] = [exactCpuSeconds(pid) - cpuBefore, parts - partsBefore];
  isOver = true;
  await failure;
  const cpuPerPart = cpu / measured;
  return { parts: measured, cpuPerPart, cpuPerStream: (cpuPerPart / PART_SECONDS) * 100, rssAfterWarming, rssMost };
}
