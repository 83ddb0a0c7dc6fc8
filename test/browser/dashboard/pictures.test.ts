/**
 * The pictures of docs/dashboard.md. `npm run pictures` makes them and records what each one shows; every other run checks that
 * they exist, are small, and that the pages still have the headings, fields, buttons and columns that were recorded.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { isInSample } from "../../support/sample.ts";
import { IS_FULL } from "../../support/slack.ts";
import { until } from "../../support/wait.ts";
import { attempt } from "../../support/wire/connect.ts";
import { browserForTests, button, Dashboard } from "../support/dashboard.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";

setDefaultTimeout(300_000);

const IS_MADE = process.env.PARLEY_TEST_PICTURES === "1";
const FOLDER = join(import.meta.dir, "../../../docs/images");
const RECORDED = join(import.meta.dir, "../support/pictures.json");
const SUM_MAX_BYTES = 900_000;
/** How long there is traffic before the pictures are made, so that charts have something to show. */
const TRAFFIC_SECONDS = 240;
const NAMES = ["alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy", "mallory", "niaj"];
const TEXTS = ["Is the blue one in stock?", "Yes, in all sizes.", "Thank you!", "When does it ship?", "Tomorrow."];

const browser = browserForTests();
const server = await dashboardServer();
const { world, publishable } = await newShop(server, "shop");
const wires = new Map<string, Awaited<ReturnType<typeof world.member>>["wire"]>();
let traffic: ReturnType<typeof setInterval> | undefined;

const refuse = () =>
  attempt(server.url, { query: `key=${publishable.keyId}`, headers: { Origin: "https://shop.example.org" } });

let sent = 0;
function sendOne(): void {
  const [name = "", wire] = [...wires][sent % wires.size] ?? [];
  const channel = `chat/${41 + (NAMES.indexOf(name) % 3)}`;
  wire?.send({ type: "publish", channel, data: { text: TEXTS[sent % TEXTS.length] } });
  sent++;
}

/** Rises and falls, as it does where people write. */
function maySend(): void {
  if (!IS_MADE || Math.random() < 0.55 + 0.4 * Math.sin(Date.now() / 40_000)) sendOne();
}

async function mayRefuse(): Promise<void> {
  await (Math.random() < 0.7 ? refuse() : attempt(server.url, { query: `key=${world.key.keyId}` }));
}

beforeAll(async () => {
  await server.admin.must("PATCH", `/apps/${world.app._id}`, {
    consolePayloads: true,
    channelRules: [
      { pattern: "chat/archive/**", history: { messages: 10_000, seconds: 30 * 86_400 } },
      { pattern: "chat/*", history: { messages: 500, seconds: 7 * 86_400 }, graceSec: 30 },
      { pattern: "orders/**", graceSec: 10 },
    ],
  });
  await refuse();
  const few = IS_MADE ? NAMES : NAMES.slice(0, 3);
  for (const [at, name] of few.entries()) {
    const peerMetadata = { name: `${name[0]?.toUpperCase()}${name.slice(1)}`, role: at % 4 === 0 ? "seller" : "buyer" };
    const { wire } = await world.member(`chat/${41 + (at % 3)}`, { sub: name, peerMetadata });
    wires.set(name, wire);
    traffic ??= setInterval(maySend, 100);
    if (!IS_MADE) continue;
    await mayRefuse();
    await Bun.sleep((TRAFFIC_SECONDS * 1000) / NAMES.length);
  }
});

afterAll(() => {
  clearInterval(traffic);
  world.hangUp();
});

/** What a reader of the page relies on, without values that change. */
const outlineOf = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`[
    ...[...document.querySelectorAll("nav, main, dialog, [role=grid]")].map(
      (one) => (one.getAttribute("role") ?? one.tagName.toLowerCase()) + " " + (one.getAttribute("aria-label") ?? "")),
    ...[...document.querySelectorAll("main h1, main h2, main label, main th[scope=col], main legend, nav a, main button.primary")].map(
      (one) => {
        const read = one.cloneNode(true);
        // Marks and counts that screen readers leave out.
        for (const hidden of read.querySelectorAll("[aria-hidden=true], [popover]")) hidden.remove();
        return one.tagName.toLowerCase() + " " + read.textContent.trim();
      }),
  ]`);

interface Picture {
  readonly name: string;
  readonly path: string;
  /** Until the page shows what the picture is about. */
  readonly show: (page: Page) => Promise<unknown>;
}

const PICTURES: readonly Picture[] = [
  { name: "overview", path: "/apps/shop", show: (page) => page.locator("main").getByText("chat/41").waitFor() },
  {
    name: "console",
    path: "/apps/shop/console",
    show: async (page) => {
      const rows = page.getByRole("grid").getByRole("row");
      await rows.filter({ hasText: "publish" }).first().waitFor();
      await world.member("orders/eu", { sub: "olivia" });
      await refuse();
      await rows.filter({ hasText: "origin_not_allowed" }).waitFor();
      if (IS_MADE) await until("the list is full", async () => (await rows.count()) > 16);
    },
  },
  { name: "keys", path: "/apps/shop/keys", show: (page) => page.getByText("Web shop").first().waitFor() },
  {
    name: "channel",
    path: "/apps/shop/channels/chat%2F41",
    show: async (page) => {
      const rows = page.getByRole("grid").getByRole("row");
      await rows.first().waitFor();
      if (IS_MADE) await until("some messages", async () => (await rows.count()) > 8);
    },
  },
  {
    name: "rules",
    path: "/apps/shop/rules?channel=chat%2F42",
    show: (page) => page.getByText("Rule 2, chat/*").waitFor(),
  },
  {
    name: "why-not",
    path: `/apps/shop/why-not?key=${publishable.keyId}&channel=chat%2F42`,
    show: async (page) => {
      await page.getByLabel("Origin of the web page").fill("https://shop.example.org");
      await page.getByLabel("Action").selectOption("publish");
      await button(page, "Explain").click();
      await page.getByText(/^Refused by the check/).waitFor();
    },
  },
];

const fileOf = ({ name }: Picture): string => join(FOLDER, `dashboard-${name}.png`);

test("each picture shows its page as it is", async () => {
  await using dashboard = await Dashboard.open(browser(), server.url, { token: server.adminToken });
  const seen: Record<string, string[]> = {};
  for (const [at, picture] of PICTURES.entries()) {
    if (!IS_MADE && !isInSample(at, 3)) continue;
    const page = await dashboard.page(picture.path);
    await picture.show(page);
    seen[picture.name] = await outlineOf(page);
    if (IS_MADE) {
      mkdirSync(FOLDER, { recursive: true });
      await page.screenshot({ path: fileOf(picture), animations: "disabled" });
    }
    await page.close();
  }
  if (IS_MADE) writeFileSync(RECORDED, `${JSON.stringify(seen, null, 2)}\n`);
  // If this fails because pages have changed: npm run pictures.
  const recorded: Record<string, string[]> = JSON.parse(readFileSync(RECORDED, "utf8"));
  if (IS_FULL) expect(Object.keys(seen)).toEqual(Object.keys(recorded));
  for (const [name, outline] of Object.entries(seen))
    expect({ name, outline }).toEqual({ name, outline: recorded[name] ?? [] });
});

test("all pictures are there, are used by the page, and are small", () => {
  const page = readFileSync(join(FOLDER, "../dashboard.md"), "utf8");
  for (const picture of PICTURES) {
    expect(existsSync(fileOf(picture))).toBe(true);
    expect(page).toContain(`images/dashboard-${picture.name}.png`);
  }
  const sum = PICTURES.reduce((bytes, picture) => bytes + statSync(fileOf(picture)).size, 0);
  expect(sum).toBeLessThanOrEqual(SUM_MAX_BYTES);
});
