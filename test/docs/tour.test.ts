/** The programs of docs/tour.md. Its commands are run by test/defaults. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Server, startParley } from "../support/parley.ts";
import { runModule } from "./support/module.ts";
import { block } from "./support/page.ts";

const TOUR = block("docs/tour.md", "sh", "A backend");

let server: Server;
beforeAll(async () => {
  server = await startParley();
});
afterAll(() => server.stop());

test("its lines of JavaScript work", async () => {
  const lines = TOUR.split("\n").flatMap((line) => /^# {3}(.+)/.exec(line)?.[1] ?? []);
  expect(lines).toHaveLength(3);
  const program = lines
    .join("\n")
    .replace("ws://localhost:8080", server.url.replace("http", "ws"))
    .replace("pk_live_…", server.keys.publishableKey);
  const { code, out, err } = await runModule(`${program}\nconsole.log(client.state);\nawait client.close();\n`);
  expect({ code, out, err }).toEqual({ code: 0, out: "connected\n", err: "" });
});

test("its lines for a page without a bundler work in two of them", async () => {
  const file = await (await fetch(`${server.url}/client.js`)).text();
  const address = `data:text/javascript;base64,${Buffer.from(file).toString("base64")}`;
  const program = block("docs/tour.md", "js")
    .replace("http://localhost:8080/client.js", address)
    .replace("http://localhost:8080", server.url)
    .replace("pk_live_…", server.keys.publishableKey);
  // The same once more is the second tab.
  const other = program.replace(/^import .*$/m, "");
  const { code, out, err } = await runModule(
    `${program}\nchat.on("message", () => parley.close());\n{${other}\nparley.close();}\n`,
  );
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toMatch(/^[\w-]{36} \{\s*text: "hello",?\s*\}\n$/);
});
