/** The dashboard of three nodes, opened on one: it shows all of them, and its session holds and ends on every node. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join, tokenQuery } from "../../conformance/raw/support/world.ts";
import { Cluster, connect } from "../../nodes/support/cluster.ts";
import type { SecretKey } from "../../support/admin.ts";
import { sessionStatus } from "../../support/dashboard.ts";
import { selfSigned } from "../../support/jwt.ts";
import type { Server } from "../../support/parley.ts";
import { until } from "../../support/wait.ts";
import type { Wire } from "../../support/wire/wire.ts";
import {
  browserForTests,
  button,
  chooseApp,
  Dashboard,
  dialog,
  go,
  heading,
  link,
  row,
  signInByForm,
} from "../support/dashboard.ts";
import { eventually } from "../support/eventually.ts";

setDefaultTimeout(90_000);

const browser = browserForTests();
let cluster: Cluster;
let key: SecretKey;
const wires: Wire[] = [];

beforeAll(async () => {
  cluster = await Cluster.start({ nodes: 3, env: { PARLEY_DEMO: "off" } });
  key = await node(0).admin.createKey((await node(0).admin.createApp("shop"))._id);
  for (const at of [0, 1, 2]) wires.push(await member(node(at), `peer-${at}`, `chat/${at}`));
});

afterAll(async () => {
  for (const wire of wires) wire.drop();
  await cluster?.stop();
});

function node(at: number): Server {
  const found = cluster.nodes[at];
  if (!found) throw new Error(`there is no node ${at}`);
  return found;
}

async function member(server: Server, peerId: string, channel: string): Promise<Wire> {
  const wire = await connect(server, tokenQuery(selfSigned(key.keyId, key.secret, { sub: peerId })));
  await wire.frame("welcome");
  await join(wire, channel);
  return wire;
}

test("one node's pages show the peers, channels, events and numbers of all three, and act on all", async () => {
  await using dashboard = await Dashboard.open(browser(), node(0).url);
  const page = await dashboard.page("/nodes");
  await signInByForm(page, node(0).adminToken, "Nodes");
  await page.getByRole("heading", { name: "3 nodes, 3 connections" }).waitFor();
  await eventually(() => page.getByRole("table", { name: "Nodes" }).locator("tbody tr").count(), 3);
  await chooseApp(page, "shop");
  await go(page, "Channels");
  for (const at of [0, 1, 2]) await row(page, "Channels with subscribers", `chat/${at}`).waitFor();
  await go(page, "Peers");
  for (const at of [0, 1, 2]) await row(page, "Connected peers", `peer-${at}`).waitFor();

  await go(page, "Console");
  await page.getByRole("main").getByText("Live", { exact: true }).waitFor();
  const events = page.getByRole("grid").getByRole("row");
  // The other nodes begin to gather a moment after the stream has opened.
  for (const at of [0, 1, 2]) {
    await until(`events of node ${at}`, async () => {
      wires[at]?.send({ type: "publish", channel: `chat/${at}`, data: 1 });
      return (
        (await events
          .filter({ hasText: "publish" })
          .filter({ hasText: `peer-${at}` })
          .count()) > 0
      );
    });
  }

  await go(page, "Channels");
  await link(page, "chat/2").click();
  await heading(page, "chat/2").waitFor();
  await button(page, "Publish").click();
  expect(await wires[2]?.until("message")).toMatchObject({
    from: "server",
    data: { text: "Hello from the dashboard" },
  });
  await link(row(page, "Members", "peer-2"), "peer-2").click();
  await heading(page, "peer-2").waitFor();
  await button(page, "Disconnect").click();
  await button(dialog(page, "Disconnect peer-2?"), "Disconnect").click();
  expect((await wires[2]?.closed())?.code).toBe(4020);
});

test("a session holds on another node, and signing out ends it there with its open tail", async () => {
  const [first, second] = [node(0), node(1)];
  await using one = await Dashboard.open(browser(), first.url, {
    hosts: [new URL(second.url).host],
    expected: /401|Failed to load/,
  });
  const page = await one.page();
  await signInByForm(page, first.adminToken);
  // Browsers do not separate cookies by port: the same cookie is sent to the other node.
  const [cookie] = await one.context.cookies();
  expect(await sessionStatus(second.url, `${cookie?.name}=${cookie?.value}`)).toBe(200);
  const other = await one.context.newPage();
  await other.addInitScript("localStorage.setItem('parley-signed-in', '1')");
  await other.goto(`${second.url}/dashboard/console`);
  await other.getByRole("main").getByText("Live", { exact: true }).waitFor();

  await button(page, "Sign out").click();
  await page.getByLabel("Token").waitFor();
  await other.getByText("Your session has ended. Sign in again.").waitFor();
  expect(await sessionStatus(second.url, `${cookie?.name}=${cookie?.value}`)).toBe(401);
});

/** With PARLEY_TEST_FULL each of them. */
const CLICKED = process.env.PARLEY_TEST_FULL ? [0, 1, 2] : [1];

test("every page opens by clicking, whatever the node", async () => {
  for (const at of CLICKED) {
    // A peer of another node.
    const other = at === 0 ? 1 : 0;
    await using dashboard = await Dashboard.open(browser(), node(at).url);
    const page = await dashboard.page("/nodes");
    await signInByForm(page, node(at).adminToken, "Nodes");
    for (const name of ["Console", "Why not?", "Nodes", "Audit log", "Operators", "Settings", "Overview"])
      await go(page, name);
    await chooseApp(page, "shop");
    for (const name of ["Console", "Channel rules", "Rooms", "Recordings", "Usage", "Why not?", "Overview"])
      await go(page, name);
    await go(page, "Channels");
    await link(page, `chat/${other}`).click();
    await heading(page, `chat/${other}`).waitFor();
    await go(page, "Peers");
    await link(page, `peer-${other}`).click();
    await heading(page, `peer-${other}`).waitFor();
    await go(page, "Keys");
    await row(page, "Keys", key.keyId.slice(0, 12)).getByRole("link").first().click();
    await page.getByText("Use it").first().waitFor();
    expect(dashboard.complaints).toEqual([]);
  }
});

/** More than a hundred above the mean of three nodes. */
const UNEVEN = 160;

test("a node with many more connections than the others is named, with a link to what one can do", async () => {
  await using dashboard = await Dashboard.open(browser(), node(0).url, { token: node(0).adminToken });
  const page = await dashboard.page("/nodes");
  await page.getByRole("heading", { name: /^3 nodes/ }).waitFor();
  const notice = page.locator(".notice");
  expect(await notice.count()).toBe(0);
  const query = tokenQuery(selfSigned(key.keyId, key.secret, { sub: "many" }));
  const many = await Promise.all(Array.from({ length: UNEVEN }, () => connect(node(1), query)));
  try {
    await notice.waitFor();
    expect(await notice.innerText()).toMatch(/has 16\d connections, [23]\.\d times the mean/);
    const href = await link(page, "What you can do").getAttribute("href");
    expect(href).toBe(`${node(0).url}/docs/scale#uneven-nodes-and-workers`);
    expect(await (await fetch(href ?? "")).text()).toContain('id="uneven-nodes-and-workers"');
  } finally {
    for (const wire of many) wire.drop();
  }
});

test("a node that stops is shown as away, and the rest of the page goes on", async () => {
  await using dashboard = await Dashboard.open(browser(), node(0).url, { token: node(0).adminToken });
  const page = await dashboard.page("/nodes");
  await page.getByRole("heading", { name: /^3 nodes/ }).waitFor();
  await node(2).kill("SIGTERM");
  await row(page, "Nodes", "Last response").waitFor();
  await page.getByRole("heading", { name: /^2 of 3 nodes respond, 2 connections/ }).waitFor();
});
