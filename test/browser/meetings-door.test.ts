/** What the page says before one is inside, and after one was put out: about devices, names, the lobby and the end. It must be true. */
import { afterAll, afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { isInSample } from "../support/sample.ts";
import { IS_FULL } from "../support/slack.ts";
import { eventually } from "./support/eventually.ts";
import { meetingRooms } from "./support/meeting-rooms.ts";
import type { Visitor } from "./support/visitor.ts";

setDefaultTimeout(60_000);

const rooms = meetingRooms();
/** Shows a room in a frame that may use no devices. */
const site = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: ({ url }) => {
    const room = decodeURIComponent(new URL(url).search.slice(1)).replace(/[^\w:/.-]/g, "");
    const html = `<!doctype html><title>x</title><iframe src="${room}" width="900" height="600"></iframe>`;
    return new Response(html, { headers: { "Content-Type": "text/html" } });
  },
});

afterAll(() => site.stop(true));
afterEach(() => rooms().allLeave());

const roomName = (url: string): string => new URL(url).pathname.slice(1);
const hostLink = async (url: string, fields: object = {}): Promise<string> => {
  const { app, server } = rooms();
  const path = `/apps/${app.id}/rooms/${roomName(url)}/host-link`;
  return (await server.admin.must<{ url: string }>("POST", path, fields)).url;
};
const nameField = ({ page }: Visitor) => page.getByLabel("Your name");

/** The browser answers a wish for this device with an error of this name. */
const refuses = (device: "audio" | "video", name: string, message: string): string => `{
  const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  navigator.mediaDevices.getUserMedia = (wanted) =>
    wanted.${device} ? Promise.reject(new DOMException("${message}", "${name}")) : open(wanted);
}`;

const visitWith = (url: string, script: string): Promise<Visitor> => rooms().visit(url, { script });

const REFUSALS = [
  ["video", "NotAllowedError", "Permission denied", "Your browser is blocking your camera on this page."],
  ["audio", "NotAllowedError", "Permission denied", "Your browser is blocking your microphone on this page."],
  ["video", "NotAllowedError", "Permission denied by system", "Your system does not let this browser use your camera."],
  ["video", "NotFoundError", "Requested device not found", "No camera found."],
  ["audio", "NotFoundError", "Requested device not found", "No microphone found."],
  ["audio", "NotReadableError", "Could not start audio source", "Another program may be using it."],
  ["video", "AbortError", "", "Your camera could not be started."],
] as const;

test.each(REFUSALS.filter((_, at) => isInSample(at, 3)))("%s, %s (%s): %s", async (device, name, message, text) => {
  const visitor = await visitWith(await rooms().room(), refuses(device, name, message));
  const alert = visitor.page.getByRole("alert");
  await alert.getByText(text).waitFor();
  await eventually(() => alert.locator("p").count(), 1);
  const isBusy = name === "NotReadableError";
  expect((await alert.innerText()).includes("Another program")).toBe(isBusy);
  // The other device works, and so does the room.
  await visitor.enter("Ada");
});

test("a browser that blocks both devices says so once, and lists no missing ones", async () => {
  const denied = refuses("audio", "NotAllowedError", "") + refuses("video", "NotAllowedError", "");
  const list = "navigator.mediaDevices.enumerateDevices = async () => [];";
  const visitor = await visitWith(await rooms().room(), denied + list);
  await visitor.page.getByText("Your browser is blocking your microphone and camera on this page.").waitFor();
  await visitor.page.locator("summary", { hasText: "Devices" }).click();
  await visitor.page.getByLabel("Microphone", { exact: true }).waitFor();
  await eventually(() => visitor.page.getByText("No devices found").count(), 0);
});

test("a host who tries the room before it opens sees from when others can join", async () => {
  const url = await rooms().room({ notBeforeUnixSec: Math.floor(Date.UTC(2035, 2, 16, 10) / 1000) });
  const host = await rooms().visit(await hostLink(url));
  await host.enter("Hana");
  await host.page
    .getByText(/^Others can join from .*March 1[56], 2035.*To open it earlier, use the dashboard\.$/)
    .waitFor();
});

test("a camera that cannot do what is asked for is opened as it is", async () => {
  const script = `{
    const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
    navigator.mediaDevices.getUserMedia = (wanted) => wanted.video?.frameRate
      ? Promise.reject(new DOMException("frameRate", "OverconstrainedError")) : open(wanted);
  }`;
  const visitor = await visitWith(await rooms().room(), script);
  await visitor.page.locator(".preview video").waitFor();
  await eventually(() => visitor.page.getByRole("alert").locator("p").count(), 0);
});

test("a frame that may use no devices is named as the reason", async () => {
  const { app, server } = rooms();
  await server.admin.must("PATCH", `/apps/${app.id}`, { allowedFrameOrigins: [`http://127.0.0.1:${site.port}`] });
  const url = await rooms().room();
  const visitor = await rooms().visit(`http://127.0.0.1:${site.port}/?${encodeURIComponent(url)}`, {
    expected: /[Pp]ermissions? policy/,
  });
  const frame = visitor.page.frameLocator("iframe");
  await frame
    .getByText("The website that shows this meeting does not allow it to use your microphone and camera.")
    .waitFor();
  await eventually(() => frame.getByRole("button", { name: "Try again" }).count(), 0);
  visitor.complaints.splice(0);
  await server.admin.must("PATCH", `/apps/${app.id}`, { allowedFrameOrigins: [] });
});

test("over plain http from another host, the page asks for https, and one can enter without devices", async () => {
  const url = await rooms().room();
  const { host, pathname } = new URL(url);
  const ada = await rooms().visit(url);
  await ada.enter("Ada");
  const far = await rooms().visit(url);
  // A host that is not this machine: the browser takes the page for insecure.
  await far.page.route("http://meet.example/**", async (route) => {
    const target = route.request().url().replace("http://meet.example", rooms().server.url);
    await route.fulfill({
      response: await route.fetch({ url: target, headers: { ...route.request().headers(), host } }),
    });
  });
  await far.page.goto(`http://meet.example${pathname}`);
  expect(await far.page.evaluate<boolean>("isSecureContext")).toBe(false);
  await far.page.getByText("Browsers only allow https pages to use your microphone and camera.").waitFor();
  await far.enter("Ben");
  await far.plays("Ada");
  far.complaints.splice(0);
});

test.if(IS_FULL)(
  "a link with a name enters under it and asks for none; one without a name asks, and uses what was typed",
  async () => {
    const url = await rooms().room();
    const hana = await rooms().visit(`${await hostLink(url, { name: "Hana" })}&name=Other`);
    await hana.page.getByText("You will join as Hana.").waitFor();
    await eventually(() => nameField(hana).count(), 0);
    await hana.button("Join").click();
    await hana.inside();

    const olga = await rooms().visit(await hostLink(url));
    await olga.enter("Olga");
    // A host is no guest, although no token has this name.
    await hana.tile("Olga").waitFor();
    await hana.choose("People");
    const row = hana.page.locator(".person", { hasText: "Olga" });
    await row.getByText("host").waitFor();
    await eventually(() => row.getByText("guest").count(), 0);
    await eventually(() => hana.tile("Olga").getByText("guest").count(), 0);

    const gil = await rooms().visit(`${url}#name=Gil`);
    await eventually(() => nameField(gil).inputValue(), "Gil");
    await gil.enter("Gil the Second");
    await hana.tile("Gil the Second").getByText("guest").waitFor();
  },
);

test("a host who types no name is called host, and sees that before", async () => {
  const url = await rooms().room();
  const host = await rooms().visit(await hostLink(url));
  await host.page.getByText("You will join as Host.").waitFor();
  await nameField(host).fill("Hana");
  await host.page.getByText("Everyone in the meeting sees it.").waitFor();
  await nameField(host).fill(" ");
  await host.button("Join").click();
  await host.inside();
  const guest = await rooms().visit(url);
  await guest.enter("Gil");
  await guest.tile("Host").waitFor();
});

test("a link that has expired is not called a closed room", async () => {
  const url = await rooms().room();
  const expireUnixSec = Math.floor(Date.now() / 1000) + 2;
  const token = await rooms().token(url, { isAdmin: true, expireUnixSec });
  // Not by asking for it: refused calls of an address are limited, and the page has the same address.
  await Bun.sleep((expireUnixSec + 1) * 1000 - Date.now());
  const visitor = await rooms().visit(`${url}#token=${token}`, { expected: /403/ });
  await visitor.heading("This invitation is not valid").waitFor();
  await visitor.button("Continue without it").click();
  await visitor.enter("Ada");
});

test.if(IS_FULL)("a private room that takes no requests offers none", async () => {
  const url = await rooms().room({ privacy: "private", enableRequestToJoin: false });
  const stranger = await rooms().visit(url);
  await stranger.heading("This room needs an invitation").waitFor();
  await eventually(() => stranger.button("Ask to join").count(), 0);
  const invited = await rooms().visit(`${url}#token=${await rooms().token(url, { name: "Ada" })}`);
  await invited.button("Join").click();
  await invited.inside();
});

test("the lobby says whether a host is there, as hosts come and go", async () => {
  const url = await rooms().room({ privacy: "private" });
  const guest = await rooms().visit(url);
  await nameField(guest).fill("Gil");
  await guest.button("Ask to join").click();
  await guest.page.getByText("No host is here yet.").waitFor();
  const host = await rooms().visit(await hostLink(url, { name: "Hana" }));
  await host.button("Join").click();
  await guest.page.getByText("The hosts can see that you are waiting.").waitFor();
  await host.button("Leave").click();
  await guest.page.getByText("No host is here yet.").waitFor();
  // The room ends all requests: no host has declined.
  await rooms().app.must("PUT", `/room/${roomName(url)}`, { enableRequestToJoin: false });
  await guest.heading("This room needs an invitation").waitFor();
});

test.if(IS_FULL)(
  "a removed guest is shown nothing about returning, and an invited person that it cannot until the end",
  async () => {
    const url = await rooms().room({ audioOnlyRoom: true });
    const host = await rooms().visit(await hostLink(url, { name: "Hana" }));
    await host.button("Join").click();
    await host.inside();
    const remove = async (name: string): Promise<void> => {
      await host.button(`Remove ${name}`).click();
      await host.button("Remove").click();
    };
    await host.choose("People");
    const gil = await rooms().visit(url);
    await gil.enter("Gil");
    await remove("Gil");
    await gil.heading("You were removed from the meeting").waitFor();
    await gil.page.getByText("A host removed you from this meeting.", { exact: true }).waitFor();

    const ivy = await rooms().visit(`${url}#token=${await rooms().token(url, { name: "Ivy" })}`, { expected: /403/ });
    await ivy.button("Join").click();
    await ivy.inside();
    await remove("Ivy");
    const text = "A host removed you from this meeting. You cannot rejoin until it has ended.";
    await ivy.page.getByText(text).waitFor();
    await ivy.page.reload();
    await ivy.button("Join").click();
    await ivy.page.getByText(text).waitFor();
  },
);
