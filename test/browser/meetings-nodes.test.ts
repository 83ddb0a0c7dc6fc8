/** A meeting whose pages are on different nodes, until one of the nodes is killed. Only with PARLEY_TEST_FULL. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { Cluster } from "../nodes/support/cluster.ts";
import { Application } from "../support/application.ts";
import type { Server } from "../support/parley.ts";
import { launchChromium } from "./support/chromium.ts";
import { eventually } from "./support/eventually.ts";
import { Line } from "./support/line.ts";
import { Visitor } from "./support/visitor.ts";

setDefaultTimeout(180_000);

const isFull = process.env.PARLEY_TEST_FULL === "1";

const portOf = ({ url }: Server): number => Number(new URL(url).port);

/** Everything that the page has announced, in order; what is shown disappears after a while. */
const HEARD = `
  globalThis.heard = [];
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes)
      for (const node of addedNodes) if (node.parentElement?.closest(".toasts")) heard.push(node.textContent);
  }).observe(document, { childList: true, subtree: true });`;

describe.skipIf(!isFull)("on two nodes", () => {
  let cluster: Cluster;
  let browser: Browser;
  let app: Application;
  const lines: Line[] = [];
  const visitors: Visitor[] = [];

  beforeAll(async () => {
    [cluster, browser] = await Promise.all([
      Cluster.start({ env: { PARLEY_DEMO: "off", PARLEY_TRUSTED_PROXIES: "127.0.0.1" } }),
      launchChromium(),
    ]);
    const [one] = cluster.pair;
    const { _id, name, secretKey } = await one.admin.createApp("shop");
    app = new Application(one.url, name, secretKey, _id);
  });

  afterAll(async () => {
    await browser?.close();
    await Promise.all(lines.map((line) => line.close()));
    await cluster?.stop();
  });

  /** The way to a page's node, as a load balancer: it has one address for the page, wherever it leads. */
  async function lineTo(node: Server): Promise<Line> {
    const line = await Line.to(portOf(node));
    lines.push(line);
    return line;
  }

  async function visit(line: Line, rest: string): Promise<Visitor> {
    // Requests fail while a node is away.
    const visitor = await Visitor.open(browser, { expected: /ERR_|WebSocket|50\d/ });
    visitors.push(visitor);
    await visitor.context.addInitScript(HEARD);
    await visitor.goto(`http://${app.name}.localhost:${line.port}/${rest}`);
    await visitor.button("Join").click();
    await visitor.inside();
    return visitor;
  }

  const heardBy = ({ page }: Visitor): Promise<string[]> => page.evaluate("heard");

  test("a call, the chat of a latecomer, acts of an admin, and a node that is killed", async () => {
    const [one, other] = cluster.pair;
    await app.must("POST", "/room", { roomName: "standup" });
    const { token } = await app.must<{ token: string }>("POST", "/token", { roomName: "standup", isAdmin: true });
    const [hers, his] = [await lineTo(one), await lineTo(other)];
    const hana = await visit(hers, `standup#token=${token}&name=Hana`);
    const ben = await visit(his, "standup#name=Ben");
    await Promise.all([hana.plays("Ben"), ben.plays("Hana")]);

    await hana.button("Open chat").click();
    await hana.page.getByLabel("Write a message").fill("Welcome");
    await hana.button("Send").click();
    await ben.button("Open chat, 1 unread").waitFor();
    const late = await visit(his, "standup#name=Lea");
    await late.button("Open chat").click();
    await late.page.getByRole("list", { name: "Chat" }).getByText("Welcome").waitFor();
    await late.button("Leave").click();
    await hana.announced("Lea left.");

    await hana.choose("People");
    await hana.button("Mute Ben").click();
    await ben.announced("A host turned off your microphone.");
    await hana.choose("Lock the room");
    await ben.announced("The room is locked: no one else can join.");

    await other.kill("SIGKILL");
    await ben.page.locator(".banner", { hasText: "The connection was lost" }).waitFor();
    await hana.tile("Ben").getByText("connection lost").first().waitFor({ state: "attached" });
    // The call needs no node.
    await Promise.all([hana.plays("Ben"), ben.plays("Hana")]);
    his.lead(portOf(one));
    await ben.announced("Connected again.");
    await ben.button("Raise hand").click();
    await hana.announced("Ben raised a hand.");
    await Promise.all([hana.plays("Ben"), ben.plays("Hana")]);
    await eventually(() => hana.page.locator(".tile").count(), 2);
    expect((await heardBy(hana)).filter((text) => /^Ben (joined|left)/.test(text))).toEqual(["Ben joined."]);
    expect((await heardBy(ben)).filter((text) => /^Hana (joined|left)/.test(text))).toEqual([]);
    expect(visitors.flatMap(({ complaints }) => complaints)).toEqual([]);
  });
});
