/**
 * The ticket of a visitor is a credential (meetings.md 2): an operator who may only read, an admin of the room and a reader of the log see the
 * waitId, and it opens nothing.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { claimsOf, newRoom, ROOMS_ENV, type Room } from "../conformance/raw/support/rooms.ts";
import { subscribe } from "../conformance/raw/support/world.ts";
import { serverForTests } from "../support/for-tests.ts";
import { call, type Json } from "../support/http.ts";
import { TailReader } from "../support/tail.ts";

setDefaultTimeout(60_000);

const server = await serverForTests({ env: ROOMS_ENV });
const { url, admin } = server;

interface Queued {
  readonly waitId: string;
  readonly name: string;
}

/** What the lists of the control plane show of the application and of these peers, as one text. They may leave out people in rooms. */
async function listed(bearer: string, room: Room, peers: readonly string[]): Promise<string> {
  const paths = ["channels", "peers", ...peers.map((id) => `peers/${id}`)];
  const answers = await Promise.all(
    paths.map((path) => call(`${url}/api/internal/v1/apps/${room.app.name}/${path}`, { bearer })),
  );
  for (const { status, text } of answers) if (status !== 200 && status !== 404) throw new Error(`${status} ${text}`);
  return answers.map(({ text }) => text).join("\n");
}

test("a ticket is shown to no one but its holder, and what others are shown does not open the room", async () => {
  const { token: reader } = await admin.must<{ token: string }>("POST", "/operators", { name: "rea", role: "read" });
  const room = await newRoom(server, { privacy: "private" });
  await using tail = await TailReader.open(url, reader, `app=${room.app.name}`);
  const host = await room.inside({ token: await room.accessToken({ isAdmin: true, name: "Host" }) });
  await subscribe(host.wire, room.channel("admin"));
  const joined = await room.join({ name: "Eve" });
  const ticket = String(joined.ticket);
  const eve = await room.connected(joined);
  await subscribe(eve.wire, room.channel(`wait/${eve.id}`));
  const queue = async (length: number): Promise<readonly Queued[]> => {
    const hasLength = (data: unknown): boolean => (data as { queue?: unknown[] }).queue?.length === length;
    const { data } = await host.wire.until("message", (frame) => hasLength(frame.data));
    return (data as { queue: Queued[] }).queue;
  };
  const [shown] = await queue(1);
  await tail.event("the subscribe", ({ peerId, channel }) => peerId === eve.id && channel !== undefined);
  const seen = [tail.text, JSON.stringify(host.wire.frames), await listed(reader, room, [eve.id]), server.output];
  // The tail and the queue do show the visitor.
  for (const text of seen.slice(0, 2)) expect(text).toContain(eve.id);
  expect(seen.filter((text) => text.includes(ticket))).toEqual([]);
  expect(shown).toEqual({ waitId: eve.id, name: "Eve", since: expect.any(Number) } as Queued);

  const others = async (): Promise<void> => {
    const { status, body } = await room.tryJoin({ ticket: eve.id, name: "Eve" });
    expect([status, body.waiting]).toEqual([200, true]);
    expect([ticket, eve.id]).not.toContain(String(body.ticket));
    expect(claimsOf(body.connect.token).id).not.toBe(eve.id);
  };
  await others();
  const refused = await room.act(host.token, { do: "admit", waitId: ticket });
  expect([refused.status, (refused.body as { error: Json }).error.code]).toEqual([404, "ticket_not_found"]);
  expect((await room.act(host.token, { do: "admit", waitId: eve.id })).status).toBe(200);
  await eve.wire.until("message", ({ data }) => (data as Json).notice === "admitted");
  await others();

  const inside = await room.inside({ ticket, name: "Eve" });
  await others();
  const asStay = await room.tryJoin({ ticket: inside.id, name: "Eve" });
  expect(asStay.body.waiting).toBeTrue();
  await tail.event("the entry", ({ peerId, channel }) => peerId === inside.id && channel !== undefined);
  const after = [
    tail.text,
    await listed(reader, room, [eve.id, inside.id]),
    JSON.stringify([...host.wire.frames, ...(await inside.wire.sync())]),
    server.output,
  ];
  expect(after.filter((text) => text.includes(ticket))).toEqual([]);
  expect(inside.wire.isOver).toBeFalse();
});

test("where one may not ask, what others are shown gives nothing", async () => {
  const room = await newRoom(server, { privacy: "private" });
  const host = await room.inside({ token: await room.accessToken({ isAdmin: true }) });
  const joined = await room.join({ name: "Eve" });
  const { id: waitId } = await room.connected(joined);
  expect((await room.act(host.token, { do: "admit", waitId })).status).toBe(200);
  await room.app.must("PUT", `/room/${room.name}`, { enableRequestToJoin: false });
  const { status, body } = await room.tryJoin({ ticket: waitId });
  expect([status, body.error?.code]).toEqual([403, "token_required"]);
  expect((await room.join({ ticket: String(joined.ticket) })).name).toBe("Eve");
});
