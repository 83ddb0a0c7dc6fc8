/** A backend that creates streams and writes to them, one message after the other, each when all readers have the one before. */
import type { HistoryNode } from "../history/node.ts";
import { exactCpuSeconds } from "../lib/cpu-clock.ts";
import { MARK, type Tally } from "./lines.ts";

const WITHIN_MS = 30_000;

export interface Written {
  readonly cpuSeconds: number;
  readonly deliveries: number;
}

export class Writer {
  constructor(private readonly server: HistoryNode) {}

  async create(channel: string): Promise<void> {
    await this.request("PUT", channel, undefined, 201);
  }

  /** A message of about this many bytes. */
  async write(channel: string, bytes: number): Promise<void> {
    await this.request("POST", channel, JSON.stringify(MARK.padEnd(bytes - 2, "x")), 204);
  }

  async writeAll(channel: string, messages: number, bytes: number): Promise<void> {
    const one = MARK.padEnd(bytes - 2, "x");
    await this.request("POST", channel, JSON.stringify(Array.from({ length: messages }, () => one)), 204);
  }

  /** CPU of the server until the last reader has the last message. */
  async delivered(channel: string, messages: number, bytes: number, readers: number, tally: Tally): Promise<Written> {
    const before = exactCpuSeconds(this.server.pids[0]);
    for (let at = 0; at < messages; at++) {
      const wanted = tally.count + readers;
      await this.write(channel, bytes);
      await tally.until(wanted, WITHIN_MS);
    }
    return { cpuSeconds: exactCpuSeconds(this.server.pids[0]) - before, deliveries: messages * readers };
  }

  async read(channel: string): Promise<number> {
    const answer = await this.request("GET", channel, undefined, 200, "?offset=-1");
    return answer.byteLength;
  }

  private async request(
    method: string,
    channel: string,
    body: string | undefined,
    wanted: number,
    query = "",
  ): Promise<ArrayBuffer> {
    const { port, secretKey } = this.server;
    const answer = await fetch(`http://127.0.0.1:${port}/v1/stream/${channel}${query}`, {
      method,
      headers: { Authorization: `Bearer ${secretKey}`, "Content-Type": "application/json" },
      ...(body !== undefined && { body }),
    });
    const bytes = await answer.arrayBuffer();
    if (answer.status !== wanted)
      throw new Error(`${method} of a stream: ${answer.status} ${Buffer.from(bytes).toString().slice(0, 300)}`);
    return bytes;
  }
}
