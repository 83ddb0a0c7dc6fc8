/**
 * Every state of the meeting page, wide and light, narrow and dark: nothing scrolls sideways, axe-core finds nothing, no error or violation
 * of the policy occurs, and no text is missing in any language. In each of the two a fourth of the states is looked at;
 * with PARLEY_TEST_FULL all of them, in the other colours too.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { contentSecurityPolicy } from "../../src/http/pages/pages.ts";
import { violations } from "./support/axe.ts";
import { browserForTests } from "./support/dashboard.ts";
import { meetingRooms } from "./support/meeting-rooms.ts";
import { type Visit, Visitor } from "./support/visitor.ts";

setDefaultTimeout(240_000);

const WEB = join(import.meta.dir, "../../web");
const WIDE: Visit = { width: 1440, height: 860, scheme: "light" };
const NARROW: Visit = { width: 360, height: 740, scheme: "dark" };
const isFull = process.env.PARLEY_TEST_FULL !== undefined;
/** Days since 1970. */

const browser = browserForTests();
const rooms = meetingRooms();
let site: Bun.Server<undefined> | undefined;

/** web/meeting/testing/states.tsx, with the policy that the page has. */
beforeAll(async () => {
  const { outputs } = await Bun.build({
    entrypoints: [join(WEB, "meeting/testing/states.html")],
    root: join(WEB, "meeting/testing"),
    publicPath: "/",
    target: "browser",
  });
  const files = new Map(outputs.map((file) => [file.path.replace(/^\.?\//, ""), file]));
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const file = files.get(new URL(url).pathname.slice(1));
      if (!file) return new Response(null, { status: 404 });
      return new Response(file, { headers: { "Content-Security-Policy": contentSecurityPolicy() } });
    },
  });
});
afterAll(() => site?.stop(true));

async function open(visitor: Visitor, state: string, language = "en"): Promise<void> {
  await visitor.page.goto(`http://127.0.0.1:${site?.port}/states.html?state=${state}&lang=${language}`);
  await visitor.page.locator("body[data-ready]").waitFor();
  await visitor.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
}

async function statesOf(visitor: Visitor): Promise<string[]> {
  await open(visitor, "over");
  return visitor.page.evaluate<string[]>("stateNames");
}

test.each([
  ["1,440 px, light", WIDE, 0],
  ["360 px, dark", NARROW, 2],
] as const)("%s", async (_name, look, turn) => {
  // The states have sound without a click; on the real page the microphone that is open allows it.
  const visitor = await Visitor.open(browser(), { ...look, expected: /AudioContext/ });
  const faults: Record<string, string[]> = {};
  for (const [at, state] of (await statesOf(visitor)).entries()) {
    if (!isFull && at % 4 !== turn) continue;
    await open(visitor, state);
    const sideways = await visitor.page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
    const found = [
      ...(sideways > 0 ? [`scrolls sideways by ${sideways} px`] : []),
      ...(await violations(visitor.page)),
    ];
    if (isFull) {
      await visitor.page.emulateMedia({ colorScheme: look.scheme === "dark" ? "light" : "dark" });
      found.push(...(await violations(visitor.page, ["color-contrast"])));
      await visitor.page.emulateMedia({ colorScheme: look.scheme ?? "light" });
    }
    found.push(...visitor.complaints.splice(0));
    if (found.length > 0) faults[state] = found;
  }
  await visitor.close();
  expect(faults).toEqual({});
});

test.each(["de", "fr", "es"])("%s: no text is missing, and none is wider than a phone", async (language) => {
  const visitor = await Visitor.open(browser(), NARROW);
  const states = isFull ? await statesOf(visitor) : ["door", "not-open", "admin-people", "devices"];
  const faults: string[] = [];
  for (const state of states) {
    await open(visitor, state, language);
    const { text, sideways, lang } = await visitor.page.evaluate<{ text: string; sideways: number; lang: string }>(
      `({ text: document.body.innerText, sideways: document.documentElement.scrollWidth - innerWidth, lang: document.documentElement.lang })`,
    );
    if (/[{}]|undefined|NaN/.test(text)) faults.push(`${state}: ${text}`);
    if (sideways > 0) faults.push(`${state}: scrolls sideways by ${sideways} px`);
    if (lang !== language) faults.push(`${state}: is in ${lang}`);
  }
  await visitor.close();
  expect(faults).toEqual([]);
});

test("the language is the menu's, else the room's, else the browser's", async () => {
  const german = await rooms().visit(await rooms().room({ lang: "de" }), { locale: "fr-FR" });
  await german.heading("Bereit zum Eintreten?").waitFor();
  await german.page.getByLabel("Sprache").selectOption("es");
  await german.heading("¿Listo para entrar?").waitFor();
  await german.page.reload();
  await german.heading("¿Listo para entrar?").waitFor();
  const french = await rooms().visit(await rooms().room(), { locale: "fr-FR" });
  await french.heading("Prêt à entrer ?").waitFor();
  const nowhere = (await rooms().room()).replace(/room-\d+$/, "nowhere");
  const lost = await rooms().visit(nowhere, { locale: "fr-FR", expected: /404/ });
  await lost.heading("Cette salle n’existe pas").waitFor();
  await lost.page.getByLabel("Langue").selectOption("de");
  await lost.heading("Diesen Raum gibt es nicht").waitFor();
  await lost.page.reload();
  await lost.heading("Diesen Raum gibt es nicht").waitFor();
  await rooms().allLeave();
});

test("a first visit is sent at most 70 KB: the page, its scripts, its styles and one language; the worker is for recordings", async () => {
  const { host, pathname } = new URL(await rooms().room());
  let sent = 0;
  const get = async (path: string): Promise<string> => {
    const headers = { Host: host, "Accept-Encoding": "gzip" };
    const response = await fetch(rooms().server.url + path, { headers, decompress: false });
    const bytes = new Uint8Array(await response.arrayBuffer());
    sent += bytes.length;
    const isPacked = response.headers.get("content-encoding") === "gzip";
    return Buffer.from(isPacked ? Bun.gunzipSync(bytes) : bytes).toString();
  };
  const html = await get(pathname);
  const parts = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? "");
  expect(parts.length).toBeGreaterThanOrEqual(3);
  for (const part of parts) await get(part);
  const visited = sent;
  const languages = [...(/data-texts="([^"]*)"/.exec(html)?.[1] ?? "").matchAll(/\/assets\/[\w.-]+/g)];
  expect(languages.length).toBe(3);
  const sizes: number[] = [];
  for (const [path] of languages) {
    const before = sent;
    await get(path);
    sizes.push(sent - before);
  }
  expect(visited + Math.max(...sizes)).toBeLessThanOrEqual(70_000);
  expect(sent).toBeGreaterThan(10_000);
});
