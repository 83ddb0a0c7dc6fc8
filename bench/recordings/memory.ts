/** The server's memory while a recording of 4 GiB is uploaded and downloaded. */
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KIB, MIB } from "../lib/memory.ts";
import { type Parley, startParley } from "../lib/parley.ts";
import { keep, table } from "../lib/report.ts";

const SIZE = 4 * 1024 * MIB;
const TARGET_RSS = 150 * MIB;

export async function memory(): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "parley-bench-"));
  try {
    return await measure(join(folder, "source"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function measure(source: string): Promise<boolean> {
  // A sparse file: reading it costs the load generator almost nothing.
  writeFileSync(source, "");
  truncateSync(source, SIZE);
  await using server = await startParley();
  const atStart = peakRss(server.pid);
  const api = client(server);
  await api("POST", "/room", { roomName: "bench" });
  const begun = await api("POST", "/recording", { room: "bench", participantUsername: "bench", type: "video" });
  const upload = await timed(() => put(server, String(begun.uploadUrl), source));
  const afterUpload = peakRss(server.pid);
  await api("POST", `/recording/${begun._id}/complete`, {});
  const { url } = await api("GET", `/recording/${begun._id}/download`);
  const download = await timed(() => drain(server, String(url)));
  const afterDownload = peakRss(server.pid);
  const mib = (bytes: number): string => (bytes / MIB).toFixed(0);
  console.log(
    table(
      ["4 GiB", "peak RSS, MiB", "seconds", "MiB/s"],
      [
        ["started", mib(atStart), "", ""],
        ["upload", mib(afterUpload), upload.toFixed(1), mib(SIZE / upload)],
        ["download", mib(afterDownload), download.toFixed(1), mib(SIZE / download)],
      ],
    ),
  );
  const holds = afterDownload < TARGET_RSS;
  console.log(`\npeak ${mib(afterDownload)} MiB, target under ${mib(TARGET_RSS)}: ${holds ? "holds" : "MISSED"}`);
  const figures = { atStart, afterUpload, afterDownload, uploadSeconds: upload, downloadSeconds: download };
  console.log(`written to ${await keep("recordings-memory", { ...figures, target: TARGET_RSS, holds })}\n`);
  return holds;
}

type Api = (method: string, path: string, body?: object) => Promise<Record<string, unknown>>;

function client({ url, appSecret }: Parley): Api {
  return async (method, path, body) => {
    const response = await fetch(`${url.origin}/api/v1${path}`, {
      method,
      headers: { Host: `demo.localhost:${url.port}`, Authorization: `Bearer ${appSecret}` },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  };
}

/** The path of the link at the server's local address, with the host of the link as a header. */
const localRequest = ({ url }: Parley, link: string): [string, Record<string, string>] => {
  const { host, pathname, search } = new URL(link);
  return [url.origin + pathname + search, { Host: host }];
};

async function put(server: Parley, link: string, source: string): Promise<void> {
  const [url, headers] = localRequest(server, link);
  const response = await fetch(url, { method: "PUT", headers, body: Bun.file(source) });
  const { offset } = (await response.json()) as { offset: number };
  if (offset !== SIZE) throw new Error(`${response.status}: ${offset} bytes were accepted`);
}

async function drain(server: Parley, link: string): Promise<void> {
  const [url, headers] = localRequest(server, link);
  const response = await fetch(url, { headers });
  let count = 0;
  for await (const chunk of response.body ?? []) count += chunk.length;
  if (count !== SIZE) throw new Error(`${response.status}: ${count} bytes came`);
}

async function timed(work: () => Promise<void>): Promise<number> {
  const from = performance.now();
  await work();
  return (performance.now() - from) / 1000;
}

/** The peak since the process started, as the kernel counts it, so that no short peak is missed. */
const peakRss = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * KIB;
