/** Meetings in Firefox: its page in every language, calls between two of it, and calls with Chromium, in which each decodes what the other sends. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { de } from "../../../web/meeting/texts/de.ts";
import { en } from "../../../web/meeting/texts/en.ts";
import { es } from "../../../web/meeting/texts/es.ts";
import { fr } from "../../../web/meeting/texts/fr.ts";
import { within } from "../../support/wait.ts";
import { Attendee, SLOW_MS } from "../meetings/support/attendee.ts";
import { MeetingPlace } from "../meetings/support/meeting-place.ts";
import { startScriptSite } from "../meetings/support/script-site.ts";
import { launchChromium } from "../support/chromium.ts";
import { browserForTests } from "../support/dashboard.ts";
import { launchDarkFirefox, launchFirefox } from "../support/firefox.ts";
import { meetingRooms } from "../support/meeting-rooms.ts";
import { meetingStates, textFaults } from "../support/meeting-states.ts";
import { Service } from "../support/service.ts";
import { type Visit, Visitor } from "../support/visitor.ts";

setDefaultTimeout(240_000);

const rooms = meetingRooms(launchFirefox);
const chromium = browserForTests(launchChromium);
const states = meetingStates();

afterEach(() => rooms().allLeave());

/** Firefox without a screen has none to share. */
const SCREEN = `navigator.mediaDevices.getDisplayMedia = async () => {
  const canvas = document.createElement("canvas");
  const brush = canvas.getContext("2d");
  let painted = 0;
  setInterval(() => {
    brush.fillStyle = "hsl(" + painted++ * 20 + " 60% 50%)";
    brush.fillRect(0, 0, canvas.width, canvas.height);
  }, 50);
  return canvas.captureStream();
};`;

const LOOKS = [
  ["wide and light", { width: 1440, height: 860, scheme: "light" }, ["en"], launchFirefox],
  ["narrow and dark", { width: 360, height: 740, scheme: "dark" }, ["en", "de", "fr", "es"], launchDarkFirefox],
] as const satisfies readonly (readonly [string, Visit, readonly string[], () => Promise<Browser>])[];

describe.each(LOOKS)("every state of the page, %s", (_name, look, languages, launch) => {
  const browser = browserForTests(launch);

  test.each([...languages])("%s", async (language) => {
    const visitor = await Visitor.open(browser(), look);
    const faults: string[] = [];
    for (const state of await states.names(visitor)) {
      await states.open(visitor, state, language);
      faults.push(...(await textFaults(visitor.page, state, language)));
      faults.push(...visitor.complaints.splice(0).map((one) => `${state}: ${one}`));
    }
    await visitor.close();
    expect(faults).toEqual([]);
  });
});

test.each([
  ["en-GB", en],
  ["de-AT", de],
  ["fr-FR", fr],
  ["es-ES", es],
])("the lobby and a room, %s", async (locale, texts) => {
  const visitor = await rooms().visit(await rooms().room(), { locale });
  await visitor.heading(texts.doorTitle).waitFor();
  await visitor.page.locator(".preview video").waitFor();
  await visitor.page.getByLabel(texts.yourName).fill("Ada");
  await visitor.button(texts.enter).click();
  await visitor.button(texts.leave).click();
  await visitor.heading(texts.leftTitle).waitFor();
});

async function meet(first: Visitor, second: Visitor): Promise<void> {
  await first.enter("Ada");
  await second.enter("Ben");
  await Promise.all([first.plays("Ben"), second.plays("Ada")]);
}

test("two pages: camera, chat, hand, screen, a reload, and leaving", async () => {
  const url = await rooms().room();
  const [ada, ben] = [await rooms().visit(url, { script: SCREEN }), await rooms().visit(url)];
  await meet(ada, ben);
  await ada.button("Open chat").click();
  await ada.page.getByLabel("Write a message").fill("hello");
  await ada.button("Send").click();
  await ben.button("Open chat, 1 unread").click();
  await ben.page.getByText("hello", { exact: true }).waitFor();
  await ben.button("Raise hand").click();
  await ada.tile("Ben").getByText("hand raised").waitFor({ state: "attached" });
  await ada.button("Share screen").click();
  await ben.plays("Screen of Ada", "screen");
  await ada.button("Stop sharing your screen").click();
  await ben.tile("Screen of Ada", "screen").waitFor({ state: "detached" });
  await ben.page.reload();
  await ben.inside();
  await Promise.all([ada.plays("Ben"), ben.plays("Ada")]);
  await ben.button("Turn off camera").click();
  await ada.tile("Ben").locator("video").waitFor({ state: "detached" });
  await ben.button("Leave").click();
  await ben.heading("You have left the meeting").waitFor();
  await ada.announced("Ben left.");
});

test("in a room where only hosts speak, a page that may send nothing sees the host", async () => {
  const url = await rooms().room({ ownerOnlyBroadcast: true });
  const host = await rooms().visit(`${url}#token=${await rooms().token(url, { isAdmin: true, name: "Hana" })}`);
  await host.button("Join").click();
  await host.inside();
  const guest = await (await rooms().visit(url)).enter("Ada");
  await guest.plays("Hana");
});

test("in a page of another site, it opens camera and microphone, and tells the site", async () => {
  const { app, server } = rooms();
  const site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const room = decodeURIComponent(new URL(url).search.slice(1)).replace(/[^\w:/.#=-]/g, "");
      const html = `<!doctype html><title>site</title><script>addEventListener("message", ({ data }) => document.title += " " + data.event)</script>
        <iframe src="${room}" allow="camera; microphone" width="900" height="600"></iframe>`;
      return new Response(html, { headers: { "Content-Type": "text/html" } });
    },
  });
  const path = `/apps/${app.id}`;
  await server.admin.must("PATCH", path, { allowedFrameOrigins: [`http://127.0.0.1:${site.port}`] });
  const url = await rooms().room({ autoJoin: true });
  const { host } = new URL(url);
  const visitor = await rooms().visit(`http://127.0.0.1:${site.port}/?${encodeURIComponent(`${url}#name=Ada`)}`);
  const frame = visitor.page.frameLocator("iframe");
  await frame.getByRole("button", { name: "Turn off camera" }).waitFor();
  await frame.getByRole("button", { name: "Turn off microphone" }).waitFor();
  // A click by its place does not reach a frame of another site: WebDriver gives it to the page around.
  await frame.getByRole("button", { name: "Leave" }).dispatchEvent("click");
  await visitor.page.waitForFunction("/ joined .*left/.test(document.title)");
  const others = visitor.complaints.filter((one) => !one.includes(host));
  visitor.complaints.splice(0, visitor.complaints.length, ...others);
  await server.admin.must("PATCH", path, { allowedFrameOrigins: [] });
  await visitor.close();
  await site.stop(true);
});

test.each(["Firefox", "Chromium"])(
  "a call with Chromium, in which %s comes first: pictures in both directions",
  async (first) => {
    const url = await rooms().room();
    const firefox = await rooms().visit(url);
    const other = await Visitor.open(chromium());
    await other.goto(url);
    if (first === "Firefox") await meet(firefox, other);
    else await meet(other, firefox);
    await other.close();
    expect(other.complaints).toEqual([]);
  },
);

describe("pictures and sound are decoded", () => {
  let service: Service;
  let site: Bun.Server<undefined>;
  let everyone: Attendee[] = [];
  beforeAll(async () => {
    [service, site] = await Promise.all([Service.start(), startScriptSite("call.mjs")]);
  });
  afterEach(async () => {
    const faults = everyone.flatMap((one) => one.faults);
    await Promise.all(everyone.map((one) => one.close()));
    everyone = [];
    expect(faults).toEqual([]);
  });
  afterAll(async () => {
    await site?.stop(true);
    await service?.stop();
  });

  const allFlow = async (): Promise<void> => {
    const flows = everyone.map((at) => {
      const others = everyone.filter((from) => from !== at);
      return at.flows(...others.flatMap((from) => (["audio", "video"] as const).map((kind) => [from, kind] as const)));
    });
    await within("all tracks arrive", Promise.all(flows), SLOW_MS, async () => {
      const at = everyone.map(async (one) => `${one.name}: ${await one.missing()}; ${await one.story()}`);
      return (await Promise.all(at)).join("\n");
    });
  };

  const come = async (room: string, of: Readonly<Record<string, Browser>>): Promise<void> => {
    const place = new MeetingPlace(service.url, service.port, service.keys.appSecret, room);
    await place.create();
    for (const [name, browser] of Object.entries(of)) {
      const context = await browser.newContext();
      everyone.push(await Attendee.open(context, `http://127.0.0.1:${site.port}/`, place, name));
    }
    for (const one of everyone) await one.enter("audio", "video");
    await allFlow();
  };

  test("between two Firefox and a Chromium, by each of the others, also after a reload and a mute", async () => {
    await come("three", { Ann: rooms().browser, Bob: chromium(), Cid: rooms().browser });
    const [ann, bob, cid] = everyone as [Attendee, Attendee, Attendee];
    for (const one of [ann, bob]) {
      await one.reload("audio", "video");
      await allFlow();
    }
    for (const [one, other] of [
      [ann, bob],
      [bob, cid],
    ] as const) {
      await one.mute("audio", true);
      await other.fallsSilent(one);
      await one.mute("audio", false);
    }
    await allFlow();
    await bob.leave();
    await Promise.all([ann.noticed("Bob left"), cid.noticed("Bob left")]);
  });
});
