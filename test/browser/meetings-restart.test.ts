/** A restart of the service while people are in a meeting: the pages say so, and go on. Only with PARLEY_TEST_FULL. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { Application } from "../support/application.ts";
import { launchChromium } from "./support/chromium.ts";
import { eventually } from "./support/eventually.ts";
import { leavesAfterUpload, recordingsOf, recordsFor } from "./support/recordings.ts";
import { Service } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";

setDefaultTimeout(120_000);

const isFull = process.env.PARLEY_TEST_FULL === "1";

test.skipIf(!isFull)("people in a meeting go on after a restart of the service", async () => {
  const service = await Service.start({ PARLEY_TRUSTED_PROXIES: "127.0.0.1" });
  const browser = await launchChromium();
  try {
    const app = new Application(service.url, "demo", service.keys.appSecret);
    await app.must("POST", "/room", { roomName: "standup" });
    const url = `http://${app.host}/standup`;
    // Requests fail while the service is unavailable.
    const visit = async (name: string): Promise<Visitor> =>
      (await (await Visitor.open(browser, { expected: /ERR_|WebSocket|50\d/ })).goto(url)).enter(name);
    const ada = await visit("Ada");
    const ben = await visit("Ben");
    await Promise.all([ada.plays("Ben"), ben.plays("Ada")]);
    await ada.button("Open chat").click();
    await service.down();
    await ada.page.locator(".banner", { hasText: "The connection was lost" }).waitFor();
    await service.up();
    await ada.announced("Connected again.");
    await ben.announced("Connected again.");
    await ada.page.getByLabel("Write a message").fill("Still here");
    await ada.button("Send").click();
    await ben.button("Open chat, 1 unread").waitFor();
    await Promise.all([ada.plays("Ben"), ben.plays("Ada")]);
    await eventually(() => ada.page.locator(".tile").count(), 2);
    expect([...ada.complaints, ...ben.complaints]).toEqual([]);
  } finally {
    await browser.close();
    await service.stop();
  }
});

test.skipIf(!isFull)(
  "the door, the lobby and the chat say that the service is away, and come back by themselves",
  async () => {
    const service = await Service.start({ PARLEY_TRUSTED_PROXIES: "127.0.0.1" });
    const browser = await launchChromium();
    try {
      const app = new Application(service.url, "demo", service.keys.appSecret);
      await app.must("POST", "/room", { roomName: "standup" });
      await app.must("POST", "/room", { roomName: "board", privacy: "private", enableRequestToJoin: true });
      const visit = async (room: string): Promise<Visitor> =>
        (await Visitor.open(browser, { expected: /ERR_|WebSocket|50\d/ })).goto(`http://${app.host}/${room}`);
      const ada = await (await visit("standup")).enter("Ada");
      await ada.button("Open chat").click();
      const ben = await visit("standup");
      await ben.page.getByLabel("Your name").fill("Ben");
      const cy = await visit("board");
      await cy.page.getByLabel("Your name").fill("Cy");
      await cy.button("Ask to join").click();
      const alone = cy.page.getByText("No host is here yet.");
      await alone.waitFor();
      await service.down();
      await cy.page.getByText("You keep your place if you are back soon.").waitFor();
      await ben.button("Join").click();
      await ben.page.getByText("This page keeps trying.").waitFor();
      await ada.page.locator(".banner", { hasText: "The connection was lost" }).waitFor();
      await ada.page.getByLabel("Write a message").fill("Hello");
      await ada.button("Send").click();
      const notSent = ada.page.getByText("Not sent: no connection.");
      await notSent.waitFor();
      // What is written stays also while the chat is closed.
      await ada.button("Close chat").first().click();
      await ada.button("Open chat").click();
      await service.up();
      await ada.announced("Connected again.");
      await notSent.waitFor({ state: "detached" });
      await ada.button("Send").click();
      await ada.page.getByRole("list", { name: "Chat" }).getByText("Hello").waitFor();
      await ben.enter("Ben");
      await alone.waitFor();
      expect([ada, ben, cy].flatMap(({ complaints }) => complaints)).toEqual([]);
    } finally {
      await browser.close();
      await service.stop();
    }
  },
);

test.skipIf(!isFull)("a recording goes on over a restart of the service, and is one file", async () => {
  const service = await Service.start({ PARLEY_TRUSTED_PROXIES: "127.0.0.1" });
  const browser = await launchChromium();
  try {
    const app = new Application(service.url, "demo", service.keys.appSecret);
    await app.must("POST", "/room", { roomName: "standup", recordRoom: true });
    const url = `http://${app.host}/standup`;
    const ada = await (await Visitor.open(browser, { expected: /ERR_|WebSocket|50\d|4\d\d/ })).goto(url);
    await ada.button("Agree and join").click();
    await ada.inside();
    await recordsFor(ada, 5);
    await service.down();
    await recordsFor(ada, 5);
    await service.up();
    await ada.announced("Connected again.");
    await recordsFor(ada, 3);
    await leavesAfterUpload(ada);
    const [recording] = await recordingsOf(app, url, 1);
    expect((recording?.endTime ?? 0) - (recording?.startTime ?? 0)).toBeGreaterThanOrEqual(12);
    expect(ada.complaints).toEqual([]);
  } finally {
    await browser.close();
    await service.stop();
  }
});
