/** A data folder of 0.1.0, which ran from a clone, used by the executable of this version as it is. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../src/testing/ports.ts";
import { PROJECT } from "../deploy/support/files.ts";
import { Running, run } from "../deploy/support/program.ts";
import { call } from "../support/http.ts";
import { BEFORE_COMMIT as BEFORE, WITH_BEFORE } from "../support/release-before.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { ownExecutable } from "./support/released.ts";

setDefaultTimeout(900_000);

test("CHANGELOG.md names the commit of 0.1.0 in full", () => {
  expect(BEFORE).toHaveLength(40);
});

describe.skipIf(!WITH_BEFORE)("the folder of a node of 0.1.0", () => {
  const folder = tempFolder();
  const [clone, data] = [join(folder, "parley"), join(folder, "data")];
  let executable: string;
  let url: string;

  beforeAll(async () => {
    mkdirSync(clone);
    const unpack = `git -C '${PROJECT}' archive ${BEFORE} | tar -x -C '${clone}'`;
    expect(await run(["sh", "-c", unpack])).toEqual({ code: 0, output: "" });
    executable = await ownExecutable(folder);
  });
  afterAll(() => removeFolder(folder));

  /** Runs it on the folder while `use` does something with it. */
  async function whileRunning(program: string, use: () => Promise<void>): Promise<void> {
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const service = new Running([program, "up", "--port", String(port), "--data", data, "--log-format", "json"]);
    try {
      await until(
        `the start: ${service.output}`,
        () => service.hasEnded || service.output.includes("parley is ready"),
        300_000,
      );
      expect(service.output).toContain("parley is ready");
      await use();
    } finally {
      await service.stop();
    }
  }

  const firstRun = (name: RegExp): string =>
    new RegExp(`${name.source} +(\\S+)`).exec(readFileSync(join(data, "first-run.txt"), "utf8"))?.[1] ?? "";
  const admin = (method: string, path: string, body?: object) =>
    call<{ name: string; items: { name: string }[] }>(`${url}/api/internal/v1${path}`, {
      method,
      bearer: firstRun(/admin token/),
      ...(body && { body }),
    });

  test("has its applications, keys and tokens with this version, and stays readable after a stop", async () => {
    let mintedBefore = "";
    const mint = async (): Promise<string> => {
      const { status, body } = await call<{ token: string }>(`${url}/v1/tokens`, {
        method: "POST",
        bearer: firstRun(/secret key/),
        body: { peerId: "ann", channels: ["chat/*"] },
      });
      expect(status).toBe(200);
      return body.token;
    };
    await whileRunning(join(clone, "bin/parley"), async () => {
      expect((await admin("POST", "/apps", { name: "shop" })).status).toBe(200);
      mintedBefore = await mint();
    });
    for (const _start of ["the first, which migrates", "the second"])
      await whileRunning(executable, async () => {
        const { text } = await admin("GET", "/apps");
        expect(text).toContain('"shop"');
        expect(text).toContain('"demo"');
        await mint();
        const socket = new WebSocket(`${url.replace("http", "ws")}/v1?token=${mintedBefore}`);
        const welcome = await new Promise<string>((resolve, reject) => {
          socket.onmessage = ({ data: frame }) => resolve(String(frame));
          socket.onclose = ({ code, reason }) => reject(new Error(`closed: ${code} ${reason}`));
        });
        socket.close();
        expect(welcome).toContain('"welcome"');
      });
  });
});
