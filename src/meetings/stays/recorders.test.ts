import { afterEach, beforeEach, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import type { StayUploadRequest } from "../contract/contract.ts";
import { APP, type Someone, World } from "../testing/world.ts";
import { StayRecorders } from "./recorders.ts";

const MINUTE_MS = 60_000;

let world: World;
let node: ReturnType<World["node"]>;
let room: RoomRow;
let recorders: StayRecorders;
let begun: string[];
beforeEach(async () => {
  world = await World.open();
  node = world.node();
  room = await world.room(node.rooms, { enableRecording: true });
  begun = [];
  recorders = new StayRecorders({
    store: world.store.meetings,
    stayTokens: node.services.stayTokens,
    nowMs: world.nowMs,
    uploads: {
      keptMs: 30 * MINUTE_MS,
      begin: async ({ id }, source, startedMsAgo, _sender, byGuest) => {
        begun.push(`${id} ${source} ${startedMsAgo}${byGuest ? " by a guest" : ""}`);
        return { id: "upload" };
      },
      sentAll: async ({ id }, upload) => {
        begun.push(`${id} ends ${upload}`);
      },
    },
  });
});
afterEach(async () => {
  await node.services.stop();
  expect(world.failures).toEqual([]);
  await world.close();
});

const begin = ({ token }: Someone, more: Partial<StayUploadRequest> = {}): Promise<unknown> =>
  recorders.begin(APP, "standup", { token, address: "a" }, { source: "camera", ...more });
const sentAll = ({ token }: Someone, name = "standup"): Promise<void> => recorders.sentAll(APP, name, token, "upload");
const record = (on: boolean): Promise<boolean> => node.services.acts.record(APP, "standup", on);
const leave = async (who: Someone): Promise<void> => {
  await world.store.meetings.end(who.id, "left", world.now);
};

test("a recorder that was started before the recording was stopped may come for half an hour, a later one not", async () => {
  const ann = await world.enter(node, room);
  await expect(begin(ann, { startedMsAgo: MINUTE_MS })).rejects.toMatchObject({ code: "not_recording" });
  await record(true);
  await begin(ann);
  world.now += 5 * MINUTE_MS;
  await record(false);
  world.now += MINUTE_MS;
  await expect(begin(ann)).rejects.toMatchObject({ code: "not_recording" });
  await expect(begin(ann, { startedMsAgo: MINUTE_MS })).rejects.toMatchObject({ code: "not_recording" });
  await begin(ann, { startedMsAgo: MINUTE_MS + 1 });
  world.now += 30 * MINUTE_MS;
  await expect(begin(ann, { startedMsAgo: 40 * MINUTE_MS })).rejects.toMatchObject({ code: "not_recording" });
  expect(begun).toHaveLength(2);
});

test("no one who came after the recording was stopped has started a recorder before", async () => {
  await world.enter(node, room);
  await record(true);
  world.now += MINUTE_MS;
  await record(false);
  world.now += MINUTE_MS;
  const late = await world.enter(node, room);
  await expect(begin(late, { startedMsAgo: 2 * MINUTE_MS })).rejects.toMatchObject({ code: "not_recording" });
});

test("so may one of a stay, or of a meeting, that has ended; and it ends its uploads as long", async () => {
  const ann = await world.enter(node, room);
  await record(true);
  world.now += MINUTE_MS;
  await node.services.acts.end(APP, "standup");
  world.now += 20 * MINUTE_MS;
  await expect(begin(ann)).rejects.toMatchObject({ code: "action_not_permitted" });
  await begin(ann, { startedMsAgo: 20 * MINUTE_MS + 1 });
  await sentAll(ann);
  world.now += 11 * MINUTE_MS;
  await expect(begin(ann, { startedMsAgo: 32 * MINUTE_MS })).rejects.toMatchObject({ code: "action_not_permitted" });
  await expect(sentAll(ann)).rejects.toMatchObject({ code: "action_not_permitted" });
});

test("a person who was removed begins none, whenever the recorder was started, and may still say that one has ended", async () => {
  const [eve, ann] = [await world.enter(node, room), await world.enter(node, room)];
  await record(true);
  await begin(eve);
  world.now += MINUTE_MS;
  await node.services.acts.remove(APP, "standup", eve.id);
  for (const startedMsAgo of [0, 1, MINUTE_MS])
    await expect(begin(eve, { startedMsAgo })).rejects.toMatchObject({
      code: "action_not_permitted",
      message: expect.stringContaining("removed"),
    });
  await begin(ann);
  await sentAll(eve);
  expect(begun.map((one) => one.split(" ")[0])).toEqual([eve.id, ann.id, eve.id]);
});

test("nor does it by an earlier stay of the same access token; others with that token go on", async () => {
  const token = { accessToken: "digest", isGuest: false };
  const first = await world.enter(node, room, token);
  await record(true);
  world.now += MINUTE_MS;
  await leave(first);
  const [second, shares] = [await world.enter(node, room, token), await world.enter(node, room, token)];
  const startedMsAgo = MINUTE_MS + 1;
  await begin(first, { startedMsAgo });
  world.now += 1000;
  await node.services.acts.remove(APP, "standup", second.id);
  for (const eve of [first, second])
    await expect(begin(eve, { startedMsAgo: startedMsAgo + 1000 })).rejects.toMatchObject({
      code: "action_not_permitted",
      message: expect.stringContaining("removed"),
    });
  await begin(shares);
  world.now += MINUTE_MS;
  await leave(shares);
  await begin(shares, { startedMsAgo: 1000 });
});

test("a token that has expired ends uploads for half an hour, and begins none while its stay goes on", async () => {
  const ann = await world.enter(node, room, { exp: Math.floor(world.now / 1000) + 60 });
  await record(true);
  world.now += MINUTE_MS;
  await expect(begin(ann)).rejects.toMatchObject({ code: "token_expired" });
  await sentAll(ann);
  world.now += 30 * MINUTE_MS;
  await expect(sentAll(ann)).rejects.toMatchObject({ code: "token_expired" });
});

test("one of a stay whose time is over, which is not written yet, may come after its token has expired", async () => {
  const atSec = Math.floor(world.now / 1000) + 60;
  const ann = await world.enter(node, room, { exp: atSec, ejectAfterSec: 60 });
  await record(true);
  world.now = atSec * 1000 + MINUTE_MS;
  await expect(begin(ann)).rejects.toMatchObject({ code: "action_not_permitted" });
  await begin(ann, { startedMsAgo: MINUTE_MS + 1 });
  expect(begun).toHaveLength(1);
});

test("an upload is a guest's unless the stay was invited or let in", async () => {
  const [eve, ann] = [await world.enter(node, room), await world.enter(node, room, { opens: {} })];
  const ben = await world.enter(node, room, { isLetIn: true });
  await record(true);
  for (const one of [eve, ann, ben]) await begin(one);
  expect(begun).toEqual([`${eve.id} camera 0 by a guest`, `${ann.id} camera 0`, `${ben.id} camera 0`]);
});

test("a renamed room has both names, an archived one only ends what was begun, another room neither", async () => {
  const ann = await world.enter(node, room);
  await record(true);
  await node.rooms.update(APP, "standup", { roomName: "renamed" });
  await begin(ann);
  await recorders.begin(APP, "renamed", { token: ann.token, address: "a" }, { source: "screen" });
  await expect(sentAll(ann, "other")).rejects.toMatchObject({ code: "action_not_permitted" });
  await leave(ann);
  await node.rooms.archive(APP, "renamed");
  await expect(begin(ann, { startedMsAgo: 1 })).rejects.toMatchObject({ code: "room_not_found" });
  await sentAll(ann);
  await expect(recorders.sentAll(anAppId("another"), "standup", ann.token, "upload")).rejects.toMatchObject({
    code: "invalid_token",
  });
});
