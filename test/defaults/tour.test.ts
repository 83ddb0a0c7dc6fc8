/**
 * README.md and docs/tour.md as a new user follows them: a fresh clone, `npm start`, the default port and `./data`, no flag and no variable that the page does
 * not show. The other suites use temporary absolute folders and settings of their own, and did not see what failed here.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { leavesAfterUpload, recordsFor } from "../browser/support/recordings.ts";
import { Visitor } from "../browser/support/visitor.ts";
import { block, blocks } from "../docs/support/page.ts";
import { type Expected, hold } from "../docs/support/shell.ts";
import { IS_FULL } from "../support/slack.ts";
import { Newcomer } from "./support/newcomer.ts";
import { seeksTo } from "./support/player.ts";

setDefaultTimeout(120_000);

let user: Newcomer;
let browser: Browser;
let started: string;
beforeAll(async () => {
  user = await Newcomer.arrive();
  started = await user.start();
  browser = await user.browser();
});
afterAll(async () => {
  await browser?.close();
  await user?.leave();
});

const json = (text: string): Record<string, unknown> => JSON.parse(text);

test("the first start says where it is, where its data is, and where the keys are", () => {
  expect(started).toContain("http://127.0.0.1:8080");
  expect(started).toContain(`${user.folder}/data/first-run.txt`);
  expect(user.read("data/first-run.txt")).toMatch(/^ +secret key +sk_id_\w+:sk_secret_\S+$/m);
});

const TOUR: readonly Expected[] = [
  { command: /^export PARLEY_KEY=/, holds: () => undefined },
  {
    command: /^curl .*\/v1\/tokens/,
    holds: ({ out }) => expect(json(out)).toMatchObject({ token: expect.stringMatching(/^eyJ/), channels: ["chat/*"] }),
  },
  {
    command: /^curl .*\/publish/,
    holds: ({ out }) => expect(json(out)).toEqual({ channel: "chat/1", published: true }),
  },
  { command: /^curl .*\/v1\/channels /, holds: ({ out }) => expect(json(out)).toEqual({ data: [], next: null }) },
  { command: /^bin\/parley token mint .*chat/, holds: ({ out }) => expect(out).toMatch(/^eyJ[\w.-]+\n$/) },
  {
    command: /^bin\/parley token mint .*\| bin\/parley token check -$/,
    holds: ({ out }) => expect(out).toMatch(/^token +good\npeer +alice\n/),
  },
  { command: /^bin\/parley apps create shop$/, holds: ({ out }) => expect(out).toMatch(/^name +shop$/m) },
  {
    command: /^bin\/parley keys create .*publishable/,
    holds: ({ out }) => {
      expect(out).toMatch(/^key +pk_live_[0-9a-f]{32}$/m);
      expect(out).toMatch(/^origins +https:\/\/shop\.example\.com$/m);
      expect(out).not.toContain("secret");
    },
  },
  {
    command: /^bin\/parley keys create .*secret/,
    holds: ({ out }) => {
      expect(out).toMatch(/^key +sk_id_[0-9a-f]{32}$/m);
      expect(out).toMatch(/^secret +sk_secret_[\w-]{48}$/m);
    },
  },
  {
    command: /^bin\/parley keys list --app shop$/,
    holds: ({ out }) => {
      expect(out.trim().split("\n")).toHaveLength(3);
      expect(out).toMatch(/^pk_live_\w+ +shop +publishable +live/m);
      expect(out).toMatch(/^sk_id_\w+ +shop +secret +live/m);
    },
  },
];

test("every command of the tour does what it says, and none of them needs more than the page shows", async () => {
  hold(await user.paste(block("docs/tour.md", "sh", "A backend")), TOUR);
});

/** The commands between backquotes in the prose of the tour. */
const inProse = (pattern: RegExp): string => {
  const found = user
    .read("docs/tour.md")
    .match(/`bin\/parley [^`]+`/g)
    ?.find((one) => pattern.test(one));
  if (found === undefined) throw new Error(`docs/tour.md names no command ${pattern}`);
  return found.slice(1, -1);
};

test("one terminal prints what another publishes, without a key", async () => {
  await using listening = user.stay(inProse(/listen/));
  await listening.writes(/chat\/1/);
  await user.runs(inProse(/publish/));
  await listening.writes(/hello/);
});

test("the two terminals of docs/cli.md talk", async () => {
  const [listens, talks] = blocks("docs/cli.md").filter(({ heading }) => heading === "Two terminals");
  await using listening = user.stay(listens?.text ?? "");
  await listening.writes(/chat\/1/);
  const outcomes = await user.paste(talks?.text ?? "");
  expect(outcomes.map(({ command, code }) => `${command}: ${code}`)).toEqual(
    outcomes.map(({ command }) => `${command}: 0`),
  );
  await listening.writes(/hello from the terminal/);
});

// The parts are also in browser/meetings-recording and storage/mending.
test.if(IS_FULL)(
  "two people meet and are recorded; the recordings are mended, and a player can seek in them",
  async () => {
    const page = "docs/recordings.md";
    const [create] =
      block(page, "sh", "Record a meeting").match(/^bin\/parley rooms create .*"recordRoom":true.*$/m) ?? [];
    const room = /create (\S+)/.exec(create ?? "")?.[1];
    await user.runs(String(create));
    const visitors = [await Visitor.open(browser), await Visitor.open(browser)] as const;
    const [ada, ben] = visitors;
    for (const [visitor, name] of [
      [ada, "Ada"],
      [ben, "Ben"],
    ] as const) {
      await visitor.goto(`http://demo.localhost:8080/${room}`);
      await visitor.page.getByLabel("Your name").fill(name);
      await visitor.button("Agree and join").click();
      await visitor.inside();
    }
    await Promise.all([ada.plays("Ben"), ben.plays("Ada")]);
    await recordsFor(ada, 4);
    await Promise.all(visitors.map(leavesAfterUpload));
    const list = `bin/parley recordings list --room ${room} --json`;
    const recordings = await user.until(list, (out) => {
      const all = out.trim() === "" ? [] : out.trim().split("\n").map(json);
      return all.length === 2 ? all : undefined;
    });
    expect(recordings.map(({ participantUsername, mended }) => `${participantUsername} ${mended}`).sort()).toEqual([
      "Ada true",
      "Ben true",
    ]);
    await Promise.all(visitors.map((visitor) => visitor.close()));
    expect(visitors.flatMap(({ complaints }) => complaints)).toEqual([]);

    const dashboard = await browser.newPage();
    await dashboard.goto("http://localhost:8080/dashboard");
    await dashboard.getByLabel("Token").fill(/admin token +(\S+)/.exec(user.read("data/first-run.txt"))?.[1] ?? "");
    await dashboard.getByRole("button", { name: "Sign in" }).click();
    await dashboard.getByRole("navigation").first().waitFor();
    for (const { _id } of recordings) {
      await dashboard.goto(`http://localhost:8080/dashboard/apps/demo/recordings/${_id}`);
      expect(await seeksTo(dashboard, 0.5)).toBeGreaterThan(3);
    }
    await dashboard.close();
  },
);

test("what was made is there after a stop and a start, and after a backup and its restore", async () => {
  expect(await user.stop()).toBe(0);
  await user.runs("bin/parley backup parley-backup.sqlite");
  await user.start();
  expect(await user.runs("bin/parley keys list --app shop")).toContain("pk_live_");
  await user.runs("bin/parley apps create later");
  await user.stop();
  await user.runs("bin/parley restore parley-backup.sqlite --force --yes");
  await user.start();
  const apps = await user.runs("bin/parley apps list");
  expect(apps).toContain("shop");
  expect(apps).not.toContain("later");
  if (IS_FULL) expect(await user.runs("bin/parley recordings list")).toContain("Ada");
  expect(await user.runs("bin/parley publish chat/1 hello")).toContain("published");
});
