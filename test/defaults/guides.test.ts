/**
 * The guides, one after the other in one folder, as someone works through them in an afternoon: every command as it is written, with the
 * default folder and port. What a page's commands print is compared by the tests in test/docs; here none may fail because of what an
 * earlier page has made, or because it needs something that no page says. Only in full runs: the commands of the tour are in tour.test.ts.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { blocks, commands } from "../docs/support/page.ts";
import { paste } from "../docs/support/shell.ts";
import { IS_FULL } from "../support/slack.ts";
import { Newcomer } from "./support/newcomer.ts";

setDefaultTimeout(300_000);

interface Guide {
  readonly page: string;
  /** Headings whose commands are for another machine, need a person, or run until they are stopped. */
  readonly not?: readonly string[];
}

const GUIDES: readonly Guide[] = [
  { page: "docs/tour.md" },
  { page: "docs/quickstart.md", not: ["1. Start the server", "3. Let two people talk"] },
  { page: "docs/history.md" },
  { page: "docs/meetings.md" },
  { page: "docs/recordings.md" },
  { page: "docs/recordings-api.md" },
  { page: "docs/rooms.md" },
  { page: "docs/rest.md" },
  { page: "docs/backend-tokens.md" },
  { page: "docs/dashboard.md", not: ["Console and `parley tail`"] },
  { page: "docs/moving-from-hosted.md" },
];

/** The pages say so themselves: no one is connected, and no one is in the room. */
const EXPECTED = /peer_not_found|meeting_not_found/;

let user: Newcomer;
beforeAll(async () => {
  if (!IS_FULL) return;
  user = await Newcomer.arrive();
  await user.start();
});
afterAll(() => user?.leave());

/** As a reader does where a page shows a key that is made at the first start. */
function withValues(script: string): string {
  const made = (name: string): string =>
    new RegExp(`^ +${name} +(\\S+)$`, "m").exec(user.read("data/first-run.txt"))?.[1] ?? "";
  return script
    .replaceAll("sk_id_…:sk_secret_…", made("secret key"))
    .replaceAll("pk_live_…", made("publishable key"))
    .replaceAll("parley_admin_…", made("admin token"));
}

for (const { page, not = [] } of GUIDES)
  test.skipIf(!IS_FULL)(`${page}`, async () => {
    const scripts = blocks(page).filter(({ language, heading }) => language === "sh" && !not.includes(heading));
    const script = commands(withValues(scripts.map(({ text }) => text).join("\n"))).join("\n");
    expect(script).not.toBe("");
    expect(script).not.toContain("…");
    // curl succeeds also where the service refuses.
    const isRefused = (out: string): boolean => /^\{"(error|success":false|code)/.test(out) && !EXPECTED.test(out);
    const failed = (await user.paste(script)).filter(({ code, out }) => code !== 0 || isRefused(out));
    expect(failed).toEqual([]);
  });

test.skipIf(!IS_FULL)("docs/client.md: a first program, in a folder of one's own", async () => {
  const [pack, program] = blocks("docs/client.md").filter(({ heading }) => heading === "A first program");
  const env = { HOME: user.home, npm_config_userconfig: join(homedir(), ".npmrc") };
  const cwd = join(user.home, "hello");
  mkdirSync(cwd);
  writeFileSync(join(cwd, "hello.mjs"), withValues(program?.text ?? ""));
  // In the machine's own network: the compiler is downloaded, and npm asks its registry.
  const outcomes = [
    ...(await paste(pack?.text ?? "", env, { cwd: user.folder })),
    ...(await paste("npm install ~/parley-client-0.2.0.tgz", env, { cwd })),
  ];
  expect(outcomes.map(({ code, err }) => (code === 0 ? code : err))).toEqual([0, 0, 0]);
  // As the page says for a Node without a WebSocket of its own, and without ws.
  const start = () => user.stay("node --experimental-websocket hello.mjs", { env, cwd });
  await using first = start();
  await user.until("bin/parley channels --json", (out) => (out.includes("chat/1") ? true : undefined));
  await using _second = start();
  await first.writes(/text: 'hello'/);
});
