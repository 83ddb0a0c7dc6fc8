/**
 * Every page, wide and narrow, light and dark: nothing scrolls sideways, nothing moves after the first paint, axe-core finds
 * nothing, and no error, violation of the policy or request to another host occurs. Wide pages are light and narrow ones dark.
 * `npm test` looks at every eighth page, in one of the two; with PARLEY_TEST_FULL at all of them in both, and in the other colours too.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { isInSample } from "../../support/sample.ts";
import { violations } from "../support/axe.ts";
import { browserForTests, button, Dashboard, LOOKS, type Look, NARROW_DARK, WIDE } from "../support/dashboard.ts";
import { joinsIn } from "../support/joins.ts";
import { fill, type PageOf, pagesOf, settled } from "../support/pages.ts";
import { dashboardServer, newShop } from "../support/seeds.ts";

setDefaultTimeout(120_000);

/** Pages that are open at the same time: most of them wait for their next refresh. */
const AT_A_TIME = 6;
/** Movements of less than a pixel count as none. */
const SHIFT_MAX = 0.001;

const browser = browserForTests();
const server = await dashboardServer();
const shop = await newShop(server, "shop");
const PAGES = pagesOf(shop, await fill(server, shop));

interface Seen {
  readonly sideways: number;
  readonly shifts: readonly { readonly value: number; readonly of: readonly string[] }[];
}

const lookAt = (page: Page): Promise<Seen> =>
  page.evaluate<Seen>("({ sideways: document.documentElement.scrollWidth - innerWidth, shifts })");

/** Days since 1970. */
const isFull = process.env.PARLEY_TEST_FULL !== undefined;

async function faultsOf(one: PageOf, { width, scheme }: Look): Promise<string[]> {
  const faults: string[] = [];
  await using dashboard = await Dashboard.open(browser(), server.url, {
    width,
    scheme,
    token: server.adminToken,
    // The page of a room that is not there asks for it.
    ...(/rooms\/nowhere$/.test(one.path) && { expected: /404/ }),
  });
  const page = await dashboard.page(one.path);
  await settled(page, one);
  const { sideways, shifts: all } = await lookAt(page);
  const shifts = one.hasPlayer ? all.filter(({ of }) => of.some((text) => text !== "")) : all;
  if (sideways > 0) faults.push(`scrolls sideways by ${sideways} px`);
  if (shifts.reduce((sum, { value }) => sum + value, 0) > SHIFT_MAX) faults.push(`moves: ${JSON.stringify(shifts)}`);
  faults.push(...(await violations(page)));
  if (isFull) {
    // The other colours change no size: only what depends on colours is looked at a second time.
    await page.emulateMedia({ colorScheme: scheme === "dark" ? "light" : "dark" });
    faults.push(...(await violations(page, ["color-contrast"])));
  }
  faults.push(...dashboard.complaints.splice(0));
  return faults;
}

test.each([
  ["1,440 px, light", WIDE],
  ["360 px, dark", NARROW_DARK],
] as const)("%s", async (_name, look) => {
  const faults: Record<string, string[]> = {};
  const waiting = PAGES.filter((_one, at) => isFull || at % 16 === (look === WIDE ? 8 : 0));
  const visit = async (): Promise<void> => {
    for (let one = waiting.shift(); one; one = waiting.shift()) {
      const found = await faultsOf(one, look);
      if (found.length > 0) faults[one.name] = found;
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, visit));
  expect(faults).toEqual({});
});

/** Columns and times that are cut or lie over each other, rows that have grown, and buttons over the text that they copy. */
const CUT = `[...document.querySelectorAll("main table")].flatMap((table) => {
  const frame = table.parentElement;
  const cut = [...(table.tHead?.rows[0]?.cells ?? [])].filter((cell) => cell.scrollWidth > cell.clientWidth + 1 && getComputedStyle(cell).fontSize !== "0px");
  const actions = [...table.querySelectorAll("td button")].filter((one) => one.getBoundingClientRect().right > frame.getBoundingClientRect().right + 1);
  const times = [...table.querySelectorAll("td:has(> time)")].filter((cell) => cell.scrollWidth > cell.clientWidth + 1);
  const grown = table.matches(".virtual:not(.stacked)") ? [...table.tBodies[0].rows].filter((row) => row.getBoundingClientRect().height > (row.querySelector(".second-line")?.checkVisibility() ? 57 : 42)) : [];
  return [...cut, ...actions, ...times, ...grown].map((one) => table.ariaLabel + ": " + one.textContent);
}).concat([...document.querySelectorAll("main .snippet")].filter((one) => {
  const [text, button] = ["pre", ".copy"].map((part) => one.querySelector(part).getBoundingClientRect());
  return text.right > button.left && text.bottom > button.top && text.top < button.bottom;
}).map((one) => "covered: " + one.textContent))`;

test.each(isFull ? [820, 1000] : [820])(
  "at %d px, between a phone and a desk, no column is cut or lies over another",
  async (width) => {
    await using dashboard = await Dashboard.open(browser(), server.url, {
      width,
      token: server.adminToken,
      expected: /404/,
    });
    const page = await dashboard.page();
    const faults: Record<string, string[]> = {};
    for (const one of PAGES.filter(({ path }, at) => !path.includes("?") && isInSample(at, 9))) {
      await page.goto(`${server.url}/dashboard${one.path}`);
      await page.locator("main").getByText(one.ready).first().waitFor();
      const cut = await page.evaluate<string[]>(CUT);
      if (cut.length > 0) faults[one.name] = cut;
    }
    expect(faults).toEqual({});
  },
);

test("where the columns are left out, a second line says on what, and when", async () => {
  await using dashboard = await Dashboard.open(browser(), server.url, { width: 360, token: server.adminToken });
  const page = await dashboard.page("/audit");
  const row = page.getByRole("row", { name: /room created/ }).first();
  await row.locator(".second-line").filter({ visible: true }).getByText(/\S/).waitFor();
  for (const [path, label, text] of [
    ["recordings", "Recordings", /ago|now/],
    ["rooms", "Rooms", /created/],
  ] as const) {
    await page.goto(`${server.url}/dashboard/apps/${shop.name}/${path}`);
    const table = page.getByRole("table", { name: label });
    await table.locator(".second-line").filter({ visible: true, hasText: text }).first().waitFor();
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole("columnheader", { name: "Created" }).waitFor();
  expect(await page.locator(".second-line").filter({ visible: true }).count()).toBe(0);
});

test("a key of many patterns is no taller on a phone than others", async () => {
  const channelPatterns = Array.from({ length: 30 }, (_, at) => `tenant-${at}/**`);
  const key = await server.admin.createPublishable(shop.world.app._id, { label: "All tenants", channelPatterns });
  await using dashboard = await Dashboard.open(browser(), server.url, { width: 360, token: server.adminToken });
  const page = await dashboard.page(`/apps/${shop.name}/keys`);
  const line = page.getByRole("row", { name: key.label ?? "" }).locator(".second-line");
  await line.getByText("tenant-0/** tenant-1/** and 28 more").waitFor();
});

test.if(isFull)("the longest of the times in the audit is not cut", async () => {
  await using dashboard = await Dashboard.open(browser(), server.url, { token: server.adminToken });
  const page = await dashboard.page("/audit");
  await page.locator("td > time").first().waitFor();
  for (const width of [360, 820, 1000, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    // The seeds are too young to be that old.
    const over = await page.evaluate<number>(`(() => {
      const cell = document.querySelector("td:has(> time)");
      cell.firstElementChild.textContent = "59 min ago";
      return cell.scrollWidth - cell.clientWidth;
    })()`);
    expect([width, over]).toEqual([width, 0]);
  }
});

test.if(isFull)("no page runs two texts together", async () => {
  await using dashboard = await Dashboard.open(browser(), server.url, { token: server.adminToken, expected: /404/ });
  const joins: Record<string, string[]> = {};
  const waiting = [...PAGES];
  const visit = async (): Promise<void> => {
    const page = await dashboard.context.newPage();
    for (let one = waiting.shift(); one; one = waiting.shift()) {
      await page.goto(`${server.url}/dashboard${one.path}`);
      await page.locator("main").getByText(one.ready).first().waitFor();
      const found = await joinsIn(page);
      if (found.length > 0) joins[one.name] = found;
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, visit));
  expect(joins).toEqual({});
});

const LOOKED_AT = isFull ? LOOKS : [NARROW_DARK];

test.each(LOOKED_AT.map((look) => [`${look.width} px, ${look.scheme}`, look] as const))(
  "the sign-in form and an open menu, %s",
  async (_name, look) => {
    await using dashboard = await Dashboard.open(browser(), server.url, { ...look, expected: /autocomplete/ });
    const page = await dashboard.page();
    await page.getByLabel("Token").waitFor();
    expect(await violations(page)).toEqual([]);
    expect((await lookAt(page)).sideways).toBe(0);
    await page.getByLabel("Token").fill(server.adminToken);
    await page.keyboard.press("Enter");
    if (look.width < 700) await button(page, "Menu").click();
    await page.getByRole("navigation").getByText("Operators").waitFor();
    await page.getByRole("heading", { level: 1 }).waitFor();
    expect(await violations(page)).toEqual([]);
    expect((await lookAt(page)).sideways).toBe(0);
  },
);

test("a first visit is sent at most 90 KB, and a visit to every page 160 KB: page, styles, scripts", async () => {
  let sent = 0;
  const get = async (path: string): Promise<string> => {
    const response = await fetch(server.url + path, { headers: { "Accept-Encoding": "gzip" }, decompress: false });
    const bytes = new Uint8Array(await response.arrayBuffer());
    sent += bytes.length;
    const isPacked = response.headers.get("content-encoding") === "gzip";
    return Buffer.from(isPacked ? Bun.gunzipSync(bytes) : bytes).toString();
  };
  const namesIn = (text: string): string[] =>
    [...text.matchAll(/[\w-]+-[0-9a-z]{8}\.(?:js|css)/g)].map(([name]) => name);
  const html = await get("/dashboard");
  const first = new Set(namesIn(html).filter((name) => !name.startsWith("plot-")));
  const texts = await Promise.all([...first].map((name) => get(`/assets/${name}`)));
  const later = new Set([html, ...texts].flatMap(namesIn).filter((name) => !first.has(name)));
  // The overview's script and what draws its charts are part of the first paint, the other pages are not.
  const isEarly = (name: string): boolean => /^(overview|plot)-/.test(name);
  await Promise.all([...later].filter(isEarly).map((name) => get(`/assets/${name}`)));
  expect(sent).toBeLessThanOrEqual(90_000);
  expect(sent).toBeGreaterThan(10_000);
  const others = [...later].filter((name) => !isEarly(name));
  // More would be many small ones: web/dashboard/scripts/shared.ts.
  expect(others.length).toBeLessThanOrEqual(6);
  await Promise.all(others.map((name) => get(`/assets/${name}`)));
  expect(sent).toBeLessThanOrEqual(160_000);
});
