/** Names within a stay: only `rename` changes them. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { seatMetadata, seatOf } from "../../access/tokens/room-token.ts";
import { AccessTokens } from "../../rooms/access-token.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import type { AppRow } from "../../store/contract/store.ts";
import type { Joined, JoinRequest } from "../contract/contract.ts";
import { RENAMES_PER_STAY_MAX } from "../contract/limits.ts";
import { APP, callerAt, type Someone, World, type WorldNode } from "../testing/world.ts";
import type { StayAct } from "./acts.ts";

let world: World;
let node: ReturnType<World["node"]>;
let other: ReturnType<World["node"]>;
let app: AppRow;
let room: RoomRow;
beforeEach(async () => {
  world = await World.open();
  [node, other] = [world.node(), world.node()];
  app = (await world.store.apps()).find(({ id }) => id === APP) as AppRow;
  room = await world.room(node.rooms);
});
afterEach(async () => {
  expect(world.failures).toEqual([]);
  await world.close();
});

async function join(request: JoinRequest): Promise<Joined> {
  const joined = await node.meetings.join(app, "standup", request, callerAt());
  if ("waiting" in joined) throw new Error("waits in the lobby");
  return joined;
}

const mint = (request: Parameters<AccessTokens["mint"]>[1]): Promise<string> =>
  new AccessTokens(world.store.rooms, world.vault, world.nowMs).mint({ app, generation: 1 }, request);

const enters = async (request: JoinRequest, at: WorldNode = node): Promise<Someone> =>
  world.take(at, await join(request));

const act = ({ token }: Someone, request: StayAct): Promise<void> =>
  node.services.acts.act(APP, "standup", token, request);
const rename = (who: Someone, name: string, participantSession?: string): Promise<void> =>
  act(who, { do: "rename", name, participantSession });
const stored = async ({ id }: Someone): Promise<string | undefined> => (await world.store.meetings.stay(id))?.name;
const shown = ({ seat }: Someone): unknown => JSON.parse(seatMetadata(seat) ?? "{}").name;
const renamedNotices = (): unknown[] => world.floors.on(`${room.id}/room`).filter(({ notice }) => notice === "renamed");
const notPermitted = expect.objectContaining({ code: "action_not_permitted" });

describe("a stay keeps its name", () => {
  test("although a second join of the same page, made before it began, gave another one", async () => {
    const first = await join({ name: "Ada" });
    const second = await join({ name: "Mallory", resume: first.connect.token });
    expect(second.participantSession).toBe(first.participantSession);
    const ada = await world.take(node, first);
    for (const at of [node, other]) {
      const tab = await world.take(at, second);
      expect([shown(tab), await stored(tab)]).toEqual(["Ada", "Ada"]);
    }
    expect([shown(ada), (await join({ name: "Eve", resume: second.connect.token })).name]).toEqual(["Ada", "Ada"]);
  });

  test("when it is resumed with another name, or with an access token that has one", async () => {
    const ada = await enters({ name: "Ada" });
    const token = await mint({ name: "Boss", roomName: "standup", isAdmin: true });
    for (const request of [{ name: "Eve" }, { token }, { token, name: "Eve" }, {}]) {
      const next = await join({ ...request, resume: ada.token });
      expect(next).toMatchObject({ participantSession: ada.id, name: "Ada", isAdmin: false, isGuest: true });
      expect(shown(await world.take(other, next))).toBe("Ada");
    }
  });

  test("that its ticket of the lobby has", async () => {
    room = await world.room(node.rooms, { roomName: "private", privacy: "private", enableRequestToJoin: true });
    const bob = await world.wait(node, room, "Bob");
    await node.services.lobby.decide({ app: APP, room: room.id }, bob.id, "admitted");
    const caller = callerAt();
    const joined = await node.meetings.join(app, "private", { ticket: bob.ticket, name: "Boss" }, caller);
    if ("waiting" in joined) throw new Error("waits");
    const inside = await world.take(node, joined);
    const second = await node.meetings.join(app, "private", { ticket: bob.ticket, name: "Eve" }, caller);
    expect([shown(inside), second]).toMatchObject(["Bob", { participantSession: inside.id, name: "Bob" }]);
  });
});

describe("rename", () => {
  test("changes a guest's own name three times: in the row, in what others are shown, and by a notice", async () => {
    const ada = await enters({ name: "Ada" }, other);
    for (let nr = 1; nr <= RENAMES_PER_STAY_MAX; nr++) {
      await rename(ada, ` Ada\u202e ${nr} `);
      expect(await stored(ada)).toBe(`Ada ${nr}`);
      expect(other.floor.renamed.at(-1)).toEqual({ peerId: ada.id, name: `Ada ${nr}` });
      expect(renamedNotices().at(-1)).toEqual({
        notice: "renamed",
        participantSession: ada.id,
        name: `Ada ${nr}`,
      });
    }
    // The same name again is no change.
    await rename(ada, `Ada ${RENAMES_PER_STAY_MAX}`);
    await expect(rename(ada, "Ada 4")).rejects.toEqual(notPermitted);
    expect([await stored(ada), renamedNotices().length]).toEqual(["Ada 3", 3]);
  });

  test("counts exactly, also when a page asks many times at once", async () => {
    const ada = await enters({ name: "Ada" });
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, (_, nr) => rename(ada, `Ada ${nr}`)));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(RENAMES_PER_STAY_MAX);
    // Whatever the order in which nodes hear of it: they show what the row has.
    expect(other.floor.renamed.at(-1)?.name).toBe((await stored(ada)) ?? "");
  });

  test("is answered by other nodes before they have read it: they answer a limited number of requests at a time", async () => {
    const ada = await enters({ name: "Ada" }, other);
    const { meetings } = world.store;
    const [stay, goOn] = [meetings.stay, Promise.withResolvers<void>()];
    let reads = 0;
    meetings.stay = async (id) => {
      reads++;
      await goOn.promise;
      return stay.call(meetings, id);
    };
    for (let nr = 0; nr < 50; nr++)
      expect(await node.floor.ask("meetings.renamed", { id: ada.id })).toEqual([true, true]);
    // One is under way on each node; another waits for it, for all others.
    expect(reads).toBe(2);
    goOn.resolve();
    meetings.stay = stay;
    await rename(ada, "Grace");
    expect(other.floor.renamed.at(-1)).toEqual({ peerId: ada.id, name: "Grace" });
  });

  test("is taken over by the next connect token, and by a connection with an earlier one", async () => {
    const ada = await enters({ name: "Ada" });
    await rename(ada, "Grace");
    expect((await join({ resume: ada.token, name: "Eve" })).name).toBe("Grace");
    expect(shown(await world.connect(other.meetings, ada.seat.claims))).toBe("Grace");
  });

  test("reaches a connection that is being opened", async () => {
    const ada = await enters({ name: "Ada" });
    const opening = seatOf(ada.seat.claims);
    await other.meetings.enter(opening);
    // The store has answered for this one with the name as it was before.
    const coming = seatOf(ada.seat.claims);
    const { store } = world;
    const [enter, answered, goOn] = [
      store.meetings.enter,
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
    ];
    store.meetings.enter = async (...args) => {
      const entered = await enter.apply(store.meetings, args);
      answered.resolve();
      await goOn.promise;
      return entered;
    };
    const entering = node.meetings.enter(coming);
    await answered.promise;
    await rename(ada, "Grace");
    goOn.resolve();
    await entering;
    expect([opening.name, coming.name]).toEqual(["Grace", "Grace"]);
  });

  test("of others is an admin's, as often as it likes", async () => {
    const admin = await enters({ token: await mint({ roomName: "standup", isAdmin: true, name: "Boss" }) });
    const [ada, bob] = [await enters({ name: "Ada" }), await enters({ name: "Bob" })];
    await expect(rename(bob, "Silly", ada.id)).rejects.toEqual(notPermitted);
    for (let nr = 0; nr < 5; nr++) await rename(admin, `Guest ${nr}`, ada.id);
    expect(await stored(ada)).toBe("Guest 4");
    // That does not use up the guest's own changes.
    await rename(ada, "Ada");
    await expect(rename(admin, "x", "f".repeat(24))).rejects.toMatchObject({ code: "participant_not_found" });
  });

  test("does not change a name that an access token has; a host who has typed one may change it", async () => {
    const boss = await enters({ token: await mint({ roomName: "standup", isAdmin: true, name: "Boss" }) });
    const grace = await enters({ token: await mint({ roomName: "standup", name: "Grace" }) });
    const host = await enters({ token: await mint({ roomName: "standup", isAdmin: true }), name: "Hst" });
    await expect(rename(grace, "Boss")).rejects.toEqual(notPermitted);
    await expect(rename(boss, "Other")).rejects.toEqual(notPermitted);
    await expect(rename(boss, "Other", grace.id)).rejects.toEqual(notPermitted);
    await rename(host, "Host of the day");
    expect([await stored(grace), await stored(boss), await stored(host)]).toEqual(["Grace", "Boss", "Host of the day"]);
  });

  test("needs a name that can be shown", async () => {
    const ada = await enters({ name: "Ada" });
    for (const name of ["", "\u200b \u2800", "x".repeat(65)])
      await expect(rename(ada, name)).rejects.toMatchObject({ code: "invalid_request" });
    await expect(act(ada, { do: "rename" })).rejects.toMatchObject({ code: "invalid_request" });
    expect(await stored(ada)).toBe("Ada");
  });
});
