/** Guests who use up what the others in a room need: signals that fill what the inboxes take, lines that push all others out of the chat. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { type Joined, newRoom, type Person, ROOMS_ENV, type Room } from "../conformance/raw/support/rooms.ts";
import { serverForTests } from "../support/for-tests.ts";
import { WORKERS } from "../support/workers.ts";

setDefaultTimeout(60_000);

const server = await serverForTests({ env: ROOMS_ENV });

const host = async (room: Room): Promise<Person> => room.inside({ token: await room.accessToken({ isAdmin: true }) });

/** The code of a refusal, or "ack". */
async function publish({ wire }: Person, channel: string, data: object): Promise<string> {
  const answer = await wire.request({ type: "publish", channel, data });
  return answer.type === "error" ? answer.code : answer.type;
}

test("a guest who joins again and again leaves the others their signals", async () => {
  const room = await newRoom(server);
  const [admin, bob] = [await host(room), await room.inside({ name: "Bob" })];
  const headers = { "X-Forwarded-For": "198.18.9.1", Authorization: "" };
  const signal = (from: Person, to: Person, bytes: number): Promise<string> =>
    publish(from, room.channel(`in/${to.id}`), { candidate: { candidate: "x".repeat(bytes) } });
  let last = "ack";
  for (let nr = 0; nr < 18; nr++) {
    const { body } = await room.app.call("POST", `/room/${room.name}/join`, { name: "Eve" }, { headers });
    const eve = await room.connected(body as unknown as Joined);
    // Into its own inbox: no one else notices.
    for (let sent = 0; sent < 33; sent++) last = await signal(eve, eve, 31_000);
    await eve.wire.close();
  }
  // Each worker counts for itself: with several, this is not enough to reach the bound of one.
  if (WORKERS === 1) expect(last).toBe("rate_limited");
  for (const [from, to] of [
    [admin, bob],
    [bob, admin],
  ] as const)
    expect(await signal(from, to, 10_000)).toBe("ack");
});

test("a guest cannot push the lines of others out of the chat", async () => {
  const room = await newRoom(server, { newChatForMeetingSession: false });
  const chat = room.channel("chat");
  const [admin, eve] = [await host(room), await room.inside({ name: "Eve" })];
  expect(await publish(admin, chat, { text: "important" })).toBe("ack");
  const answers = await Promise.all(Array.from({ length: 400 }, () => publish(eve, chat, { text: "." })));
  const accepted = answers.filter((answer) => answer === "ack").length;
  // A burst of 100, then five per second: generous, for a slow machine.
  expect(accepted).toBeWithin(100, 350);
  expect(new Set(answers)).toEqual(new Set(["ack", "rate_limited"]));
  expect(await publish(admin, chat, { text: "still here" })).toBe("ack");
});
