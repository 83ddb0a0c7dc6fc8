import { expect, setSystemTime, test } from "bun:test";
import type { Kind } from "../call/contract.ts";
import { announcements } from "../page/announce.ts";
import { type Joined, Refused } from "../page/api.ts";
import { DOOR, FakeRoom, type Fakes, fakeDevices, fakeVisit, JOINED, person, SILENT } from "../testing/fakes.ts";
import type { VisitParts } from "./parts.ts";

const track = (kind: Kind) =>
  Object.assign(new EventTarget(), { kind, stop: () => undefined }) as unknown as MediaStreamTrack;

const newVisit = (more: Partial<VisitParts> = {}): Fakes => fakeVisit(fakeDevices(track), more);
const settled = () => new Promise((resolve) => setTimeout(resolve));

async function inside(joined: Partial<Joined> = {}): Promise<Fakes> {
  const fakes = newVisit();
  fakes.api.answer = () => ({ ...JOINED, ...joined });
  await fakes.visit.start("Ada");
  await settled();
  await fakes.visit.enter("Ada");
  return fakes;
}

const states = ({ room }: Fakes) => room().states.at(-1);

test("the door, then inside with camera and microphone", async () => {
  const { visit, api, room, engine } = newVisit({ token: "access" });
  await visit.start(" Ada\u202e ");
  expect(visit.session.stage.value.at).toBe("door");
  await visit.enter("Ada");
  expect(api.joins).toEqual([{ token: "access", name: "Ada", resume: undefined }]);
  expect(visit.session.stage.value.at).toBe("inside");
  expect([...engine().published.keys()]).toEqual(["audio", "video"]);
  expect(room().states.at(-1)).toEqual({ ...SILENT, audio: true, video: true });
});

test("what the room says about camera and microphone at entry counts until the person has chosen", async () => {
  const room = { joinVideoOn: false, joinAudioOn: false };
  expect(states(await inside({ room }))).toEqual(SILENT);
  const chosen = newVisit();
  chosen.api.answer = () => ({ ...JOINED, room });
  await chosen.visit.start("Ada");
  await settled();
  await chosen.visit.toggle("video");
  await chosen.visit.toggle("video");
  await chosen.visit.enter("Ada");
  expect(states(chosen)).toEqual({ ...SILENT, video: true });
});

test("autoJoin enters muted and dark, unless an allowed page frames it", async () => {
  for (const isFramed of [false, true]) {
    const fakes = newVisit({ isFramed });
    fakes.api.doorNow = () => ({ ...DOOR, autoJoin: true });
    await fakes.visit.start("");
    expect(fakes.api.joins[0]?.name).toBe("Guest");
    expect(states(fakes)).toEqual({ ...SILENT, audio: isFramed, video: isFramed });
  }
});

test("the lobby: the join is repeated with the ticket, and the place is kept until it is answered", async () => {
  const { visit, api, lobby } = newVisit();
  api.answer = ({ ticket }) => (ticket ? JOINED : { waiting: true, ticket: "t1", connect: JOINED.connect });
  await visit.start("Ada");
  await visit.enter("Ada");
  expect(visit.session.stage.value.at).toBe("waiting");
  lobby().emit("admitted");
  expect(lobby().isClosed).toBe(false);
  await settled();
  expect(api.joins[1]?.ticket).toBe("t1");
  expect(visit.session.stage.value.at).toBe("inside");
  expect(lobby().isClosed).toBe(true);
});

test("declined, and a place that is over", async () => {
  const { visit, api, lobby } = newVisit();
  api.answer = () => ({ waiting: true, ticket: "t1", connect: JOINED.connect });
  await visit.enter("Ada");
  lobby().emit("declined", { text: "Not today" });
  expect(visit.session.stage.value).toEqual({ at: "closed", why: "declined", text: "Not today" });
  await visit.enter("Ada");
  // The service lets a declined ticket wait.
  expect(api.joins.map(({ ticket }) => ticket)).toEqual([undefined, "t1"]);
  lobby().emit("ended");
  expect(visit.session.stage.value).toEqual({ at: "closed", why: "waiting_over" });
});

test("declined: the page knows when one may ask again, from the notice and from the refusal", async () => {
  setSystemTime(new Date(1_000_000));
  try {
    const { visit, api, lobby } = newVisit();
    api.answer = () => ({ waiting: true, ticket: "t1", connect: JOINED.connect });
    await visit.enter("Ada");
    lobby().emit("declined", { retryAfterSec: 60 });
    expect(visit.session.stage.value).toEqual({ at: "closed", why: "declined", timeMs: 1_060_000 });
    api.answer = () => {
      throw new Refused(403, "declined", "", { retryAfterSec: 40 });
    };
    await visit.enter("Ada");
    expect(visit.session.stage.value).toEqual({ at: "closed", why: "declined", timeMs: 1_040_000 });
  } finally {
    setSystemTime();
  }
});

test("a place in the lobby that ends without a host: says why, and no host has declined", async () => {
  const whys = { time: "waiting_over", room_not_found: "missing", token_required: "invitation" } as const;
  for (const [reason, why] of Object.entries(whys)) {
    const { visit, api, lobby } = newVisit();
    api.answer = () => ({ waiting: true, ticket: "t1", connect: JOINED.connect });
    await visit.enter("Ada");
    lobby().emit("declined", { reason, text: "No one has let you in." });
    expect(visit.session.stage.value).toEqual({ at: "closed", why });
    expect(lobby().isClosed).toBe(true);
  }
});

test("in the lobby: whether a host is there, as soon as the service says it", async () => {
  const { visit, api, lobby } = newVisit();
  api.answer = () => ({ waiting: true, ticket: "t1", connect: JOINED.connect });
  await visit.enter("Ada");
  expect(visit.session.stage.value).not.toHaveProperty("hasHost");
  for (const hasHost of [false, true, false]) {
    lobby().emit("hosts", hasHost);
    expect(visit.session.stage.value).toMatchObject({ at: "waiting", hasHost });
  }
});

test("the door: a private room that takes no requests needs an invitation, and says so before it asks for anything", async () => {
  const closed = { ...DOOR, privacy: "private", enableRequestToJoin: false };
  const stranger = newVisit();
  stranger.api.doorNow = () => closed;
  await stranger.visit.start("Ada");
  expect(stranger.visit.session.stage.value).toEqual({ at: "closed", why: "invitation" });
  expect(stranger.visit.media.tracks.value).toEqual({});
  const invited = newVisit({ token: "access" });
  invited.api.doorNow = () => ({ ...closed, you: { isAdmin: false, isInvited: true } });
  await invited.visit.start("Ada");
  expect(invited.visit.session.stage.value.at).toBe("door");
  expect(invited.api.tokens).toEqual(["access"]);
});

test("refusals: an expired invitation is no closed room, and one's own time no room's", async () => {
  const refusedBy = async (code: string, over?: string) => {
    const { visit, api } = newVisit({ token: "access" });
    api.doorNow = () => {
      throw new Refused(403, code, "", { over });
    };
    await visit.start("Ada");
    return visit.session.stage.value;
  };
  expect(await refusedBy("room_over", "token")).toEqual({ at: "closed", why: "stale" });
  expect(await refusedBy("room_over", "room")).toEqual({ at: "closed", why: "over" });
  expect(await refusedBy("room_over", "stay")).toEqual({ at: "out", why: "time" });
  expect(await refusedBy("lobby_full")).toEqual({ at: "closed", why: "lobby_full" });
});

test("a host who gives no name is called so", async () => {
  const { visit, api } = newVisit({ defaultName: (isHost) => (isHost ? "Host" : "Guest"), token: "access" });
  api.doorNow = () => ({ ...DOOR, you: { isAdmin: true, isInvited: true } });
  await visit.start("");
  await visit.enter("  ");
  expect(api.joins[0]?.name).toBe("Host");
});

test("put out: says why, closes all devices, and does not return by itself", async () => {
  for (const why of ["removed", "ended", "time", "replaced", "lost"] as const) {
    const { visit, api, room, engine } = await inside();
    const joins = api.joins.length;
    room().emit("ended", why);
    expect(visit.session.stage.value).toEqual({ at: "out", why });
    expect(engine().hasLeft).toBe(true);
    expect(visit.media.tracks.value).toEqual({});
    await settled();
    expect(api.joins.length).toBe(joins);
    if (why !== "replaced") continue;
    await visit.bringBack();
    expect(api.joins.at(-1)?.resume).toBe("rt_1");
  }
});

test("a stay that the service took for lost while the page was connected: the person goes on in another one, with the devices that are on", async () => {
  const { visit, api, room, engine } = await inside();
  await visit.toggle("audio");
  const [lost, left] = [room(), engine()];
  api.answer = () => ({ ...JOINED, participantSession: "again" });
  lost.emit("stayLost");
  await settled();
  expect([lost.isClosed, left.hasLeft]).toEqual([true, true]);
  expect(api.joins.at(-1)?.resume).toBeUndefined();
  expect(visit.session.stage.value).toEqual({ at: "inside" });
  expect(visit.session.me.value.participantSession).toBe("again");
  expect(visit.media.isOn.value).toMatchObject({ audio: false, video: true });
  api.answer = () => {
    throw new Refused(409, "room_full", "");
  };
  room().emit("stayLost");
  await settled();
  expect(visit.session.stage.value).toEqual({ at: "closed", why: "full" });
  expect(visit.media.tracks.value).toEqual({});
});

test("removed while it was away: says so, and not that the connection was lost", async () => {
  let renew: (() => Promise<string | null>) | undefined;
  const room = new FakeRoom();
  const { visit, api } = newVisit({
    openRoom: (opening) => {
      renew = opening.renew;
      return room;
    },
  });
  await visit.start("Ada");
  await visit.enter("Ada");
  const endsWith = async (code: string) => {
    api.answer = () => {
      throw new Refused(403, code, "");
    };
    expect(await renew?.()).toBeNull();
    room.emit("ended", "lost");
    return visit.session.stage.value;
  };
  expect(await endsWith("removed")).toEqual({ at: "out", why: "removed" });
});

test("a second tab goes on under the name of the stay, and says so if another one was typed", async () => {
  const kept = new Map<string, string>();
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
  };
  Object.assign(globalThis, { localStorage: storage });
  try {
    await inside();
    const second = newVisit();
    second.api.answer = ({ resume }) => ({ ...JOINED, name: resume ? "Ada" : "Eve" });
    await second.visit.start("Ada");
    await second.visit.enter("Eve");
    expect(announcements.value.map(({ text }) => text)).toContain("You are already in this meeting as Ada.");
    expect(second.visit.name).toBe("Ada");
  } finally {
    Reflect.deleteProperty(globalThis, "localStorage");
  }
});

test("a refused token can be left out", async () => {
  const { visit, api } = newVisit({ token: "stale" });
  api.answer = ({ token }) => {
    if (token) throw new Refused(400, "invalid_access_token", "");
    return JOINED;
  };
  await visit.start("Ada");
  await visit.enter("Ada");
  expect(visit.session.stage.value).toEqual({ at: "closed", why: "stale" });
  await visit.withoutToken();
  await visit.enter("Ada");
  expect(visit.session.stage.value.at).toBe("inside");
});

test("a host mutes: the page obeys, for itself alone", async () => {
  const fakes = await inside();
  const muted = (participantSession: string, kind: string) =>
    fakes.room().emit("notice", { notice: "muted", participantSession, kind });
  muted("other", "audio");
  expect(states(fakes)?.audio).toBe(true);
  muted("me", "audio");
  muted("me", "video");
  expect(states(fakes)).toEqual(SILENT);
  expect(fakes.engine().muted.has("audio")).toBe(true);
});

test("nothing is sent or shown that the room does not allow, also after its flags change", async () => {
  const fakes = await inside({ may: { ...JOINED.may, video: false } });
  const { visit, room, engine } = fakes;
  room().show(person("host", { isAdmin: true }), person("guest"));
  expect(states(fakes)).toEqual({ ...SILENT, audio: true });
  await visit.toggle("video");
  expect(visit.media.tracks.value.video).toBeUndefined();
  const shown = (who: string) =>
    (["audio", "video", "screen"] as const).filter((kind) => engine().isAllowed(who, kind));
  expect(shown("guest")).toEqual(["audio", "video", "screen"]);
  expect(shown("stranger")).toEqual([]);
  room().emit("notice", { notice: "flags", room: { enableScreenSharing: false } });
  expect(shown("guest")).toEqual(["audio", "video"]);
  room().emit("notice", { notice: "flags", room: { ownerOnlyBroadcast: true, enableScreenSharing: true } });
  expect(shown("guest")).toEqual([]);
  expect(shown("host")).toEqual(["audio", "video", "screen"]);
  expect(visit.session.may.value).toEqual({ audio: false, video: false, screen: false, chat: true, record: false });
  expect(visit.media.tracks.value).toEqual({});
  // The token's own prohibition stays when the room allows it once more.
  room().emit("notice", { notice: "flags", room: { ownerOnlyBroadcast: false } });
  expect(visit.session.may.value).toEqual({ audio: true, video: false, screen: true, chat: true, record: false });
});

test("the chat is bounded, and a message that comes twice is shown once", async () => {
  const { visit, room } = await inside();
  const line = { from: "p", name: "P", isAdmin: false, isGuest: false, text: "x", timeMs: 0, isEarlier: false };
  for (let at = 0; at < 600; at++) room().emit("chat", { ...line, id: `${at}` });
  room().emit("chat", { ...line, id: "599" });
  expect(visit.session.chat.value.length).toBe(500);
  expect(visit.session.chat.value[0]?.id).toBe("100");
});

test("a room that is not open yet: with a token the join decides", async () => {
  const closed = newVisit();
  closed.api.doorNow = () => ({ ...DOOR, state: "not_open", opensAt: 4_000_000_000 });
  await closed.visit.start("Ada");
  expect(closed.visit.session.stage.value).toEqual({ at: "closed", why: "not_open", timeMs: 4e12 });
  const invited = newVisit({ token: "access" });
  invited.api.doorNow = closed.api.doorNow;
  await invited.visit.start("Ada");
  expect(invited.visit.session.stage.value.at).toBe("door");
});

test("a look at the door from inside finds a schedule that has changed", async () => {
  const { visit, api } = await inside();
  api.doorNow = () => ({ ...DOOR, state: "not_open", opensAt: 4_000_000_000 });
  await visit.reach();
  expect(visit.session.door.value?.opensAt).toBe(4_000_000_000);
  expect(visit.session.stage.value.at).toBe("inside");
});

test("a tab that is restored after its stay has ended is at the door, and a reload within it is inside", async () => {
  const kept = new Map<string, string>();
  const session = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
  };
  Object.assign(globalThis, { sessionStorage: session });
  try {
    await inside();
    const reloaded = newVisit();
    await reloaded.visit.start("Ada");
    expect(reloaded.api.joins[0]?.resume).toBe("rt_1");
    expect(reloaded.visit.session.stage.value.at).toBe("inside");
    const restored = newVisit();
    restored.api.answer = () => ({ ...JOINED, participantSession: "another" });
    await restored.visit.start("Ada");
    expect(restored.visit.session.stage.value.at).toBe("door");
    const automatic = newVisit();
    automatic.api.doorNow = () => ({ ...DOOR, autoJoin: true });
    automatic.api.answer = restored.api.answer;
    await inside();
    await automatic.visit.start("Ada");
    expect(states(automatic)).toEqual(SILENT);
  } finally {
    Reflect.deleteProperty(globalThis, "sessionStorage");
  }
});
