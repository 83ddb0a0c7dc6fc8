import { expect, test } from "bun:test";
import { ParleyError } from "../../../client/src/events/errors.ts";
import { closedBy, isAsBefore, refusedAct, unsent } from "../session/refusals.ts";
import { carriedBy, roomNameIn } from "./address.ts";
import { Refused } from "./api.ts";
import { looksAgainInMs } from "./door.ts";
import { framingOf } from "./frame.ts";
import { partsOf } from "./links.ts";
import { cleanName, initials } from "./names.ts";
import { shortcutOf } from "./shortcuts.ts";
import { isTimeForSound } from "./sounds.ts";

test("token and name are taken from the address, and nothing else is lost", () => {
  const carried = (text: string) => carriedBy(new URL(`https://shop.example.com/standup${text}`));
  expect(carried("#token=a.b.c&name=Ada%20L")).toEqual({ token: "a.b.c", name: "Ada L", rest: "/standup" });
  expect(carried("?token=a.b.c&utm=1")).toEqual({ token: "a.b.c", name: undefined, rest: "/standup?utm=1" });
  expect(carried("?token=old#token=new").token).toBe("new");
  expect(carried("#token=")).toEqual({ token: undefined, name: undefined, rest: "/standup" });
  expect(carried("/?token=a#name=Ada")).toEqual({ token: "a", name: "Ada", rest: "/standup" });
  expect(["/stand-up", "/stand-up/"].map(roomNameIn)).toEqual(["stand-up", "stand-up"]);
});

test("names keep letters of every script, and lose what could make them look like another", () => {
  expect(cleanName("  Ada \u202eecalevoL\u0000\n ")).toBe("Ada ecalevoL");
  expect(cleanName("José 王 👩‍🔬")).toBe("José 王 👩‍🔬");
  expect([...cleanName("💬".repeat(100))].length).toBe(64);
  expect(["Ada Lovelace", "jean-luc", "王", "", "!!", "x y z"].map(initials)).toEqual([
    "AL",
    "JL",
    "王",
    "?",
    "?",
    "XZ",
  ]);
});

test("only web addresses become links, without the punctuation around them", () => {
  const links = (text: string) => partsOf(text).flatMap(({ href }) => href ?? []);
  expect(links("see https://example.com/a?b=1#c, and (http://x.example/y).")).toEqual([
    "https://example.com/a?b=1#c",
    "http://x.example/y",
  ]);
  expect(links("https://en.wikipedia.org/wiki/Mesh_(topology)")).toEqual([
    "https://en.wikipedia.org/wiki/Mesh_(topology)",
  ]);
  for (const text of [
    "javascript:alert(1)",
    "data:text/html,x",
    "ftp://x.example",
    "https://",
    "https://bank.example@evil.example/",
    "www.example.com",
    "https://a b",
  ])
    expect({ text, links: links(text) }).toEqual({ text, links: text === "https://a b" ? ["https://a"] : [] });
  const shown = (one: string) => partsOf(one).map((part) => part.text);
  // A Cyrillic letter, and a full stop of another script: the text says where the link leads.
  expect(shown("see https://\u0430pple.com/a!")).toEqual(["see ", "https://xn--pple-43d.com/a", "!"]);
  expect(shown("https://bank.example\u3002evil.example")).toEqual(["https://bank.example.evil.example/"]);
  expect(shown("HTTPS://Example.com:8443/A")).toEqual(["HTTPS://Example.com:8443/A"]);
  const text = 'a <b> https://x.example/"onclick="y" z';
  expect(links(text)).toEqual(["https://x.example/"]);
  expect(
    partsOf(text)
      .map((part) => part.text)
      .join(""),
  ).toBe(text);
});

test("an address ends before any run of punctuation, in time that grows with its length only", () => {
  const links = (text: string) => partsOf(text).flatMap(({ href }) => href ?? []);
  for (const [text, link] of [
    ["https://e.x/a.,;:!?)]}…»”’", "https://e.x/a"],
    ["https://e.x/(a)).", "https://e.x/(a)"],
    ["https://e.x/a).b).", "https://e.x/a).b"],
    ["https://e.x", "https://e.x"],
  ] as const)
    expect(links(text)).toEqual([link]);
  const long = `https://e.x/${")".repeat(50_000)}x`;
  const began = process.cpuUsage();
  expect(links(long)).toEqual([long]);
  expect(process.cpuUsage(began).user).toBeLessThan(2_000_000);
});

test("events go to the allowed parent alone, never to all", () => {
  const sent: unknown[] = [];
  const parent = { postMessage: (message: unknown, target: string) => sent.push([message, target]) };
  const framed = (ancestorOrigins: string[] | undefined, ...allowed: string[]) =>
    framingOf({ parent, location: { ...(ancestorOrigins && { ancestorOrigins }) } }, allowed, "standup");
  framed(["https://a.example"], "https://b.example", "https://*.a.example").post("joined");
  framed(["https://a.example"]).post("joined");
  expect(sent).toEqual([]);
  const allowed = framed(["https://a.example"], "https://b.example", "https://a.example");
  expect(allowed.isFramed).toBe(true);
  allowed.post("joined", { participantSession: "p1" });
  const message = { source: "parley", event: "joined", roomName: "standup", participantSession: "p1" };
  expect(sent.splice(0)).toEqual([[message, "https://a.example"]]);
  framed(["https://x.a.example"], "https://*.a.example").post("left");
  framed(undefined, "https://a.example", "https://*.b.example").post("left");
  expect(sent.map((one) => (one as unknown[])[1])).toEqual(["https://x.a.example", "https://a.example"]);
  const own = { parent: {} as never, location: {} };
  expect(framingOf({ ...own, parent: own as never }, [], "standup").isFramed).toBe(false);
});

test("refusals have a page each", () => {
  const closed = (status: number, code: string) => closedBy(new Refused(status, code, ""));
  expect(closed(403, "token_required")).toBe("invitation");
  expect(closed(400, "invalid_access_token")).toBe("stale");
  expect(closed(409, "room_full")).toBe("full");
  expect(closed(429, "rate_limited")).toBe("busy");
  expect(closed(404, "anything")).toBe("missing");
  expect(closed(0, "unreachable")).toBe("failed");
  expect(closed(500, "constructor")).toBe("failed");
  expect(closed(400, "constructor")).toBe("refused");
});

test("a message for the chat that could not be sent: without a connection the page says so", () => {
  expect(unsent(new ParleyError("not_connected", ""))).toBe("notSent");
  expect(unsent(new ParleyError("connection_lost", ""))).toBe("notSent");
  expect(unsent(new ParleyError("rate_limited", ""))).toBe("sentTooMuch");
  expect(unsent(new ParleyError("action_not_permitted", ""))).toBe("somethingFailed");
});

test("an act that is refused says what to do; what another admin has answered already needs no text", () => {
  expect(refusedAct(new Refused(429, "rate_limited", ""))).toBe("busyText");
  expect(refusedAct(new Refused(404, "ticket_not_found", ""))).toBeUndefined();
  expect(refusedAct(new Refused(403, "action_not_permitted", ""))).toBe("somethingFailed");
  expect(refusedAct(new TypeError("Failed to fetch"))).toBe("somethingFailed");
});

test("shortcuts are single keys, and not while a text is written", () => {
  const key = { key: "m", ctrlKey: false, metaKey: false, altKey: false, repeat: false };
  expect(shortcutOf(key, false)).toBe("M");
  expect(shortcutOf({ ...key, key: "?" }, false)).toBe("?");
  expect(shortcutOf(key, true)).toBeUndefined();
  expect(shortcutOf({ ...key, ctrlKey: true }, false)).toBeUndefined();
  expect(shortcutOf({ ...key, key: "x" }, false)).toBeUndefined();
});

test("after too many looks, a page still shows when the room opens", () => {
  const closed = { at: "closed", why: "not_open", timeMs: 5 } as const;
  expect(isAsBefore(closed, { at: "closed", why: "busy" })).toBe(true);
  expect(isAsBefore({ at: "loading" }, { at: "closed", why: "busy" })).toBe(false);
  expect([5, 6].map((timeMs) => isAsBefore(closed, { ...closed, timeMs }))).toEqual([true, false]);
  expect(isAsBefore({ at: "closed", why: "full" }, { at: "closed", why: "busy" })).toBe(false);
});

test("one sound in ten seconds", () => {
  expect([0, 100, 9999, 10_000, 15_000, 20_001].map(isTimeForSound)).toEqual([true, false, false, true, false, true]);
});

test("a room that is not open yet is looked at again, as a host may open it earlier: often while someone sees the page", () => {
  const minute = 60_000;
  const nextWeek = Date.now() + 10_000 * minute;
  expect(looksAgainInMs("not_open", nextWeek)).toBeWithin(12_000, 15_001);
  Object.assign(globalThis, { document: { hidden: true } });
  expect(looksAgainInMs("not_open", nextWeek)).toBeWithin(minute, 2 * minute);
  expect(looksAgainInMs("not_open", Date.now() + minute / 2)).toBeLessThan(minute);
  Reflect.deleteProperty(globalThis, "document");
  expect(looksAgainInMs("busy", undefined)).toBeWithin(minute, 2 * minute);
  expect([looksAgainInMs("not_open", undefined), looksAgainInMs("over", 1)]).toEqual([undefined, undefined]);
});
