/** The page's address: its headers, unknown rooms, and pages of other origins that show it in a frame. */
import { afterAll, afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { meetingRooms } from "./support/meeting-rooms.ts";

setDefaultTimeout(60_000);

const rooms = meetingRooms();
/** What the frame posts is shown in the page's title, one after the other. */
const FRAMING = `<!doctype html><title></title><iframe allow="camera; microphone; display-capture; fullscreen" width="900" height="600"></iframe>
<script>
  addEventListener("message", ({ data, origin }) => (document.title += data.source + " " + data.event + " " + data.roomName + " " + origin + ";"));
  document.querySelector("iframe").src = decodeURIComponent(location.search.slice(1));
</script>`;
const site = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: () => new Response(FRAMING, { headers: { "Content-Type": "text/html" } }),
});

afterAll(() => site.stop(true));
afterEach(() => rooms().allLeave());

/** As a browser asks for the page; a test's machine need not know the name. */
function get(url: string, headers: Record<string, string> = {}): Promise<Response> {
  const { host, pathname } = new URL(url);
  return fetch(rooms().server.url + pathname, { headers: { Host: host, ...headers } });
}

const allow = (...allowedFrameOrigins: string[]): Promise<unknown> =>
  rooms().server.admin.must("PATCH", `/apps/${rooms().app.id}`, { allowedFrameOrigins });

test("the policy: nothing from other hosts, devices only for the page itself, no frames unless they are allowed", async () => {
  const url = await rooms().room();
  const { host } = new URL(url);
  const { status, headers } = await get(url);
  expect(status).toBe(200);
  expect(headers.get("content-security-policy")).toBe(
    `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' http://${host} ws://${host}; img-src 'self' data: blob:; media-src 'self' blob:; worker-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'`,
  );
  expect(headers.get("permissions-policy")).toBe(
    "camera=(self), microphone=(self), display-capture=(self), fullscreen=(self)",
  );
  expect(headers.get("x-frame-options")).toBe("DENY");
  await allow("https://intranet.example.com");
  const allowed = (await get(url)).headers;
  expect(allowed.get("content-security-policy")).toContain("frame-ancestors https://intranet.example.com;");
  expect(allowed.get("x-frame-options")).toBeNull();
  await allow();
});

test("an unknown room is a page in the visitor's language, with status 404", async () => {
  const url = (await rooms().room()).replace(/room-\d+$/, "nowhere");
  const texts = {
    en: "Room not found",
    de: "Raum nicht gefunden",
    fr: "Salle introuvable",
    es: "Sala no encontrada",
  };
  for (const [language, text] of Object.entries(texts)) {
    const response = await get(url, { "Accept-Language": `${language}-CH,en;q=0.5` });
    expect({ status: response.status, type: response.headers.get("content-type") }).toEqual({
      status: 404,
      type: "text/html; charset=utf-8",
    });
    const html = await response.text();
    expect(html).toContain(`<html lang="${language}">`);
    expect(html).toContain(text);
    // It takes a token out of the address, and has the other languages.
    expect(html.match(/<script[^>]*>/g)).toEqual([expect.stringMatching(/^<script src="\/assets\/no-room-\w+\.js">$/)]);
  }
  expect((await get(url, { "Accept-Language": "ja" })).status).toBe(404);
  // Not on the service's own address, whose names are not rooms.
  const own = await fetch(`${rooms().server.url}/nowhere`);
  expect([own.status, own.headers.get("content-type")]).toEqual([404, "application/json;charset=utf-8"]);
});

test("an archived room is unknown", async () => {
  const url = await rooms().room();
  await rooms().app.must("DELETE", new URL(url).pathname.replace(/^/, "/room"));
  expect((await get(url)).status).toBe(404);
});

test("a page that is not allowed cannot frame it", async () => {
  const url = await rooms().room({ autoJoin: true });
  const { host } = new URL(url);
  const visitor = await rooms().visit(`http://127.0.0.1:${site.port}/?${encodeURIComponent(url)}`, {
    expected: /frame-ancestors|X-Frame-Options|chromewebdata/,
  });
  const [, frame] = visitor.page.frames();
  expect(await frame?.locator("#app").count()).toBe(0);
  expect(await visitor.page.title()).toBe("");
  visitor.complaints.splice(0, visitor.complaints.length, ...visitor.complaints.filter((one) => !one.includes(host)));
});

test("an allowed page gets events, and autoJoin then turns camera and microphone on", async () => {
  await allow(`http://127.0.0.1:${site.port}`, "https://elsewhere.example");
  const url = await rooms().room({ autoJoin: true });
  const { origin, host, pathname } = new URL(url);
  const visitor = await rooms().visit(`http://127.0.0.1:${site.port}/?${encodeURIComponent(`${url}#name=Ada`)}`);
  visitor.complaints.splice(0);
  const frame = visitor.page.frameLocator("iframe");
  await frame.getByRole("button", { name: "Turn off camera" }).waitFor();
  await frame.getByRole("button", { name: "Turn off microphone" }).waitFor();
  const room = pathname.slice(1);
  // By the application's server: no one is named, and the question goes with the recording.
  await rooms().app.must("POST", `/room/${room}/recording/start`);
  const question = frame.getByRole("button", { name: "Agree and stay" });
  await question.waitFor();
  await rooms().app.must("POST", `/room/${room}/recording/stop`);
  await question.waitFor({ state: "detached" });
  await frame.getByRole("button", { name: "Leave" }).click();
  await frame.getByRole("heading", { name: "You have left the meeting" }).waitFor();
  await visitor.page.waitForFunction("document.title.includes('left')");
  expect(await visitor.page.title()).toBe(
    ["joined", "recording", "recording", "left"].map((event) => `parley ${event} ${room} ${origin};`).join(""),
  );
  const others = visitor.complaints.filter((one) => !one.includes(host));
  visitor.complaints.splice(0, visitor.complaints.length, ...others);
  await allow();
});
