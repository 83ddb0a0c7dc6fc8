/** Every example as a new user starts it: the commands of its README as they are, in order, in a fresh clone. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../src/testing/ports.ts";
import { type Server, startParley } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import type { Child } from "./support/child.ts";
import { FreshClone } from "./support/fresh-clone.ts";
import { blocks, PROJECT, readPage } from "./support/page.ts";
import { type Outcome, paste, stay } from "./support/shell.ts";

setDefaultTimeout(60_000);

let clone: FreshClone;
let server: Server;
beforeAll(async () => {
  clone = await FreshClone.make();
  // The first start makes the admin token, which some of them read from data/first-run.txt.
  server = await startParley({ data: join(clone.folder, "data"), env: { PARLEY_ADMIN_TOKEN: "" } });
});
afterAll(async () => {
  await server?.stop();
  clone?.remove();
});

/** Only the address is not the default: by the variable that each README names. */
const environment = (more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  PATH: clone.path,
  PARLEY_URL: server.url,
  PYTHONDONTWRITEBYTECODE: "1",
  ...more,
});

const firstBlock = (name: string): string =>
  blocks(`examples/${name}/README.md`).find(({ language }) => language === "sh")?.text ?? "";

/** Starts it. What npm runs is started without npm between, which would not pass on the signal that ends it. */
function started(name: string, more: Readonly<Record<string, string>> = {}): Child {
  const script = firstBlock(name).replace(/^npm (?:run )?(start|dev)$/m, (_, command: string) => {
    const { scripts } = JSON.parse(readPage(`examples/${name}/package.json`)) as { scripts: Record<string, string> };
    return `node_modules/.bin/${scripts[command]}`.replace("node_modules/.bin/node ", "node ");
  });
  return stay(script, environment(more), { cwd: clone.folder });
}

const pasted = (script: string): Promise<Outcome[]> => paste(script, environment(), { cwd: clone.folder });

/** A command that the text of a README names. */
const named = (name: string, form: RegExp): string => form.exec(readPage(`examples/${name}/README.md`))?.[1] ?? "";

const textOf = async (port: string, path: string): Promise<string> => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return `${response.status} ${await response.text()}`;
};

describe("the commands of the README start", () => {
  test("every example: there is a test for each", () => {
    const all = ["agent-python", "backend-express-free", "chat-terminal", "iot-signals", "react-chat", "sdk-recovery"];
    expect(readdirSync(join(PROJECT, "examples")).sort()).toEqual(all);
  });

  test("chat-terminal", async () => {
    await using alice = started("chat-terminal");
    await alice.writes(/\* you are alice/);
  });

  test("sdk-recovery, which prints what is published", async () => {
    await using listener = started("sdk-recovery");
    await listener.writes(/\* listening to chat\/1\n/);
    const [published] = await pasted(named("sdk-recovery", /`(bin\/parley publish [^`]+)`/));
    expect(published?.code).toBe(0);
    await listener.writes(/cli: "hello"\n/);
  });

  test.skipIf(!Bun.which("python3"))("agent-python", async () => {
    await using agent = started("agent-python");
    await agent.writes(/in chat\/1, with \[/);
  });

  test("iot-signals, and make the key that it recommends", async () => {
    const [reports = "", makesKey = ""] = blocks("examples/iot-signals/README.md").map(({ text }) => text);
    const outcomes = await pasted(reports);
    expect(outcomes.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect(JSON.parse(outcomes[1]?.out ?? "")).toEqual({ channel: "signals/kitchen", published: true });
    expect(JSON.parse(outcomes[3]?.out ?? "")).toEqual({ channel: "signals/kitchen", peers: [] });
    const [made] = await pasted(makesKey);
    expect(made).toMatchObject({ code: 0, out: expect.stringContaining("sk_secret_") });
  });

  test("backend-express-free, which serves its page and the SDK", async () => {
    await using backend = started("backend-express-free", { PORT: "0" });
    const [, port = ""] = await backend.writes(/open http:\/\/localhost:(\d+)/);
    expect(await textOf(port, "/")).toStartWith("200 ");
    expect(await textOf(port, "/realtime.js")).toContain("SignallingClient");
  });

  // It downloads Vite and a compiler.
  test.skipIf(!IS_FULL)(
    "react-chat, with npm and Vite",
    async () => {
      const port = String(await freePort());
      await using vite = started("react-chat", { PORT: port });
      await vite.writes(/Local/);
      for (const path of ["/", "/src/app.tsx", "/src/room.tsx", "/src/typing.tsx"])
        expect(await textOf(port, path)).toStartWith("200 ");
    },
    300_000,
  );
});
