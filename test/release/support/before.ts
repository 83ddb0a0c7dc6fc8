/** A data folder of 0.1.0, which ran from a clone: each form of this version must go on with it. Only full runs make one. */
import { expect } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { freePort } from "../../../src/testing/ports.ts";
import { Running } from "../../deploy/support/program.ts";
import { call } from "../../support/http.ts";
import { unpackBefore } from "../../support/release-before.ts";
import { scratch } from "../../support/temp.ts";
import { ready } from "./service.ts";

const firstRun = (data: string, name: string): string =>
  new RegExp(`${name} +(\\S+)`).exec(readFileSync(join(data, "first-run.txt"), "utf8"))?.[1] ?? "";

async function mint(url: string, data: string): Promise<string> {
  const { status, body } = await call<{ token: string }>(`${url}/v1/tokens`, {
    method: "POST",
    bearer: firstRun(data, "secret key"),
    body: { peerId: "ann", channels: ["chat/*"] },
  });
  expect(status).toBe(200);
  return body.token;
}

/** In memory, because the files of a suite share it, and none of them knows when the last one is done. */
export class DataOfBefore {
  private constructor(
    private readonly files: ReadonlyMap<string, Uint8Array>,
    /** A connect token that it has minted. */
    private readonly token: string,
  ) {}

  private static made: Promise<DataOfBefore> | undefined;

  static once(): Promise<DataOfBefore> {
    DataOfBefore.made ??= DataOfBefore.make();
    return DataOfBefore.made;
  }

  private static async make(): Promise<DataOfBefore> {
    using folder = scratch();
    const data = join(folder.path, "data");
    const program = join(dirname(await unpackBefore(folder.path)), "../bin/parley");
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const command = [program, "up", "--port", String(port), "--data", data, "--log-format", "json"];
    const service = new Running(command);
    try {
      await ready(service);
      const made = await call(`${url}/api/internal/v1/apps`, {
        method: "POST",
        bearer: firstRun(data, "admin token"),
        body: { name: "shop" },
      });
      expect(made.status).toBe(200);
      const token = await mint(url, data);
      await service.stop();
      return new DataOfBefore(filesIn(data), token);
    } finally {
      await service.stop();
    }
  }

  /** Writes the folder. What is in it already stays. */
  layInto(data: string): void {
    for (const [path, bytes] of this.files) {
      mkdirSync(dirname(join(data, path)), { recursive: true });
      writeFileSync(join(data, path), bytes, { mode: 0o600 });
    }
  }

  /** What it had works with the service at this address, which runs on a copy of the folder. */
  async goesOnAt(url: string, data: string): Promise<void> {
    const { text } = await call(`${url}/api/internal/v1/apps`, { bearer: firstRun(data, "admin token") });
    expect(text).toContain('"shop"');
    expect(text).toContain('"demo"');
    await mint(url, data);
    const socket = new WebSocket(`${url.replace("http", "ws")}/v1?token=${this.token}`);
    const welcome = await new Promise<string>((resolve, reject) => {
      socket.onmessage = ({ data: frame }) => resolve(String(frame));
      socket.onclose = ({ code, reason }) => reject(new Error(`closed: ${code} ${reason}`));
    });
    socket.close();
    expect(welcome).toContain('"welcome"');
  }
}

const filesIn = (folder: string): Map<string, Uint8Array> =>
  new Map(
    (readdirSync(folder, { recursive: true }) as string[])
      .filter((path) => statSync(join(folder, path)).isFile())
      .map((path) => [path, readFileSync(join(folder, path))]),
  );
