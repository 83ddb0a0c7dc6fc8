/** `npm run dev`: a change to a file of web/ is in the page at the next reload. In a copy, because other suites read the sources. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { within } from "../support/wait.ts";
import { PROJECT } from "./support/page.ts";

const folder = tempFolder();
const source = join(folder, "web/start/index.html");
let child: Bun.Subprocess<"ignore", "pipe", "inherit">;
let url = "";

beforeAll(async () => {
  for (const part of ["src", "web", "client/src", "scripts", "package.json"])
    cpSync(join(PROJECT, part), join(folder, part), { recursive: true });
  symlinkSync(join(PROJECT, "node_modules"), join(folder, "node_modules"));
  child = Bun.spawn([process.execPath, "scripts/dev.ts", "--port", "0", "--data", join(folder, "data")], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, PARLEY_LOG_FORMAT: "json" },
  });
  url = await within("a ready line", readyUrl(child.stdout));
});

afterAll(async () => {
  child.kill();
  await child.exited;
  removeFolder(folder);
});

async function readyUrl(output: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const bytes of output) {
    text += new TextDecoder().decode(bytes);
    const [, found] = /"url":"([^"]+)".*parley is ready/.exec(text) ?? [];
    if (found) return found;
  }
  throw new Error(`npm run dev has ended: ${text}`);
}

const startPage = async (): Promise<{ status: number; text: string }> => {
  const response = await fetch(`${url}/`);
  return { status: response.status, text: await response.text() };
};

test("a reload shows the change, a mistake in it, and the correction", async () => {
  const before = readFileSync(source, "utf8");
  expect((await startPage()).text).not.toContain("another title");
  writeFileSync(source, before.replace(/<title>.*<\/title>/, "<title>another title</title>"));
  expect((await startPage()).text).toContain("<title>another title</title>");

  const script = join(folder, "web/start/main.ts");
  const code = readFileSync(script, "utf8");
  writeFileSync(script, `${code}\nconst = mistake;\n`);
  const broken = await startPage();
  expect(broken.status).toBe(500);
  expect(broken.text).toMatch(/web\/start\/main\.ts:\d+:\d+: /);
  writeFileSync(script, code);
  const { status, text } = await startPage();
  expect(status).toBe(200);
  const [asset = ""] = /\/assets\/[^"]+\.js/.exec(text) ?? [];
  expect((await fetch(url + asset)).status).toBe(200);
});
