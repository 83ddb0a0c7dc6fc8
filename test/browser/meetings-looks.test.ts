/**
 * Every state of the meeting page, wide and light, narrow and dark: nothing scrolls sideways, axe-core finds nothing, no error or violation
 * of the policy occurs, and no text is missing in any language. In each of the two a fourth of the states is looked at;
 * with PARLEY_TEST_FULL all of them, in the other colours too.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { violations } from "./support/axe.ts";
import { browserForTests } from "./support/dashboard.ts";
import { meetingRooms } from "./support/meeting-rooms.ts";
import { meetingStates, textFaults } from "./support/meeting-states.ts";
import { type Visit, Visitor } from "./support/visitor.ts";

setDefaultTimeout(240_000);

const WIDE: Visit = { width: 1440, height: 860, scheme: "light" };
const NARROW: Visit = { width: 360, height: 740, scheme: "dark" };
const isFull = process.env.PARLEY_TEST_FULL !== undefined;

const browser = browserForTests();
const rooms = meetingRooms();

const states = meetingStates();

test.each([
  ["1,440 px, light", WIDE, 0],
  ["360 px, dark", NARROW, 2],
] as const)("%s", async (_name, look, turn) => {
  // The states have sound without a click; on the real page the microphone that is open allows it.
  const visitor = await Visitor.open(browser(), { ...look, expected: /AudioContext/ });
  const faults: Record<string, string[]> = {};
  for (const [at, state] of (await states.names(visitor)).entries()) {
    if (!isFull && at % 4 !== turn) continue;
    await states.open(visitor, state);
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

test("on a tablet with the chat open, a shared screen is as wide as its place", async () => {
  const visitor = await Visitor.open(browser(), { width: 820, height: 1100, expected: /AudioContext/ });
  await states.open(visitor, "screen");
  const width = async (selector: string): Promise<number> =>
    (await visitor.page.locator(selector).first().boundingBox())?.width ?? 0;
  expect(await width('.tile[data-kind="screen"]')).toBeCloseTo(await width(".stage"), 0);
  await visitor.close();
});

test.each(["de", "fr", "es"])("%s: no text is missing, and none is wider than a phone", async (language) => {
  const visitor = await Visitor.open(browser(), NARROW);
  const shown = isFull ? await states.names(visitor) : ["door", "not-open", "admin-people", "devices"];
  const faults: string[] = [];
  for (const state of shown) {
    await states.open(visitor, state, language);
    faults.push(...(await textFaults(visitor.page, state, language)));
  }
  await visitor.close();
  expect(faults).toEqual([]);
});

test("the language is the menu's, else the room's, else the browser's", async () => {
  const german = await rooms().visit(await rooms().room({ lang: "de" }), { locale: "fr-FR" });
  await german.heading("Bereit zur Teilnahme?").waitFor();
  await german.page.getByLabel("Sprache").selectOption("es");
  await german.heading("¿Todo listo para unirse?").waitFor();
  await german.page.reload();
  await german.heading("¿Todo listo para unirse?").waitFor();
  const french = await rooms().visit(await rooms().room(), { locale: "fr-FR" });
  await french.heading("Rejoindre la réunion").waitFor();
  const nowhere = (await rooms().room()).replace(/room-\d+$/, "nowhere");
  const lost = await rooms().visit(nowhere, { locale: "fr-FR", expected: /404/ });
  await lost.heading("Salle introuvable").waitFor();
  await lost.page.getByLabel("Langue").selectOption("de");
  await lost.heading("Raum nicht gefunden").waitFor();
  await lost.page.reload();
  await lost.heading("Raum nicht gefunden").waitFor();
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
