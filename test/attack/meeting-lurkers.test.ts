/** Participants who would listen in a room without being shown there: the host's roster has to have everyone who reads the chat. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { newRoom, type Person, ROOMS_ENV, type Room } from "../conformance/raw/support/rooms.ts";
import { serverForTests } from "../support/for-tests.ts";

setDefaultTimeout(60_000);

const server = await serverForTests({ env: ROOMS_ENV });

const host = async (room: Room): Promise<Person> => room.inside({ token: await room.accessToken({ isAdmin: true }) });

/** The code of a refusal, or the type of the answer. */
async function asks({ wire }: Person, frame: object): Promise<string> {
  const answer = await wire.request(frame);
  return answer.type === "error" ? answer.code : answer.type;
}

test("a guest who leaves the channel that shows it hears nothing of the chat any more, and says nothing", async () => {
  const room = await newRoom(server);
  const chat = room.channel("chat");
  const [admin, eve] = [await host(room), await room.inside({ name: "Eve" })];
  expect(await asks(eve, { type: "subscribe", channel: chat })).toBe("ack");
  expect(await asks(eve, { type: "unsubscribe", channel: room.channel("room") })).toBe("ack");
  expect(await asks(admin, { type: "publish", channel: chat, data: { text: "Eve has left: 4711" } })).toBe("ack");
  const attempts = [
    { type: "history", channel: chat },
    { type: "subscribe", channel: chat, rewind: 100 },
    { type: "publish", channel: room.channel(`in/${admin.id}`), data: { candidate: null } },
  ];
  for (const attempt of attempts) expect(await asks(eve, attempt)).toBe("action_not_permitted");
  expect(JSON.stringify(await eve.wire.sync())).not.toContain("4711");
  expect(await asks(eve, { type: "subscribe", channel: room.channel("room") })).toBe("ack");
  expect(await asks(eve, { type: "subscribe", channel: chat, rewind: 100 })).toBe("ack");
});

test("a guest who reads the chat first and is not shown in time loses it", async () => {
  const room = await newRoom(server);
  const chat = room.channel("chat");
  const [admin, eve] = [await host(room), await room.enter({ name: "Eve" })];
  expect(await asks(eve, { type: "subscribe", channel: chat })).toBe("ack");
  const lost: unknown = JSON.parse(await eve.wire.text(50_000));
  expect(lost).toMatchObject({ code: "channel_not_authorized", channel: chat });
  expect(await asks(admin, { type: "publish", channel: chat, data: { text: "4711" } })).toBe("ack");
  expect(JSON.stringify(await eve.wire.sync())).not.toContain("4711");
});
