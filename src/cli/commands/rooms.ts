/** Rooms of an application, and access tokens for them. */
import type { Command, Flag, Operand } from "../command.ts";
import { APPLICATION } from "../flags.ts";

const ROOM: Operand = { name: "NAME", meaning: "the room's name" };
const WHEN = "Unix seconds, a date such as 2030-01-31T18:00:00Z, or none";
const FIELDS_FLAG: Flag = { name: "fields", value: "JSON", meaning: "any fields, as the API has them" };

const EXPIRES: Flag = { name: "expires", value: "TIME", meaning: `nobody joins after it: ${WHEN}` };
const NOT_BEFORE: Flag = { name: "not-before", value: "TIME", meaning: `nobody joins before it: ${WHEN}` };

const ROOM_FLAGS: readonly Flag[] = [
  { name: "privacy", value: "KIND", meaning: "public or private" },
  EXPIRES,
  NOT_BEFORE,
  { name: "delete-on-expiry", value: "on|off", meaning: "archive the room when it expires" },
  { name: "max-participants", value: "N|none", meaning: "people inside at the same time" },
  { name: "lang", value: "TAG", meaning: "language of the page: en, pt-BR" },
  FIELDS_FLAG,
];

export const ROOMS: readonly Command[] = [
  {
    name: "rooms create",
    summary: "make a room; without a name one is made up",
    operands: [{ ...ROOM, meaning: "1 to 128 of A-Z a-z 0-9 _ -", optional: true }],
    flags: [...ROOM_FLAGS, ...APPLICATION],
    examples: [
      "parley rooms create standup",
      `parley rooms create board --privacy private --expires 2030-01-31T18:00:00Z --delete-on-expiry on --fields '{"enableChat":false}'`,
    ],
    load: async () => (await import("../rooms.ts")).create,
  },
  {
    name: "rooms list",
    summary: "list the rooms, newest first",
    flags: APPLICATION,
    examples: ["parley rooms list", "parley rooms list --app shop --json"],
    load: async () => (await import("../rooms.ts")).list,
  },
  {
    name: "rooms show",
    summary: "show one room",
    operands: [ROOM],
    flags: APPLICATION,
    examples: ["parley rooms show standup"],
    load: async () => (await import("../rooms.ts")).show,
  },
  {
    name: "rooms edit",
    summary: "change a room's fields or its name",
    operands: [ROOM],
    flags: [{ name: "rename", value: "NAME", meaning: "the new name" }, ...ROOM_FLAGS, ...APPLICATION],
    details: "Only what is named is changed.",
    examples: [
      "parley rooms edit standup --rename daily --max-participants 12",
      `parley rooms edit daily --expires none --fields '{"recordRoom":true}'`,
    ],
    load: async () => (await import("../rooms.ts")).edit,
  },
  {
    name: "rooms delete",
    summary: "archive a room; its name is free again",
    operands: [ROOM],
    flags: APPLICATION,
    details: "It cannot be undone, and does not ask.",
    examples: ["parley rooms delete standup"],
    load: async () => (await import("../rooms.ts")).remove,
  },
  {
    name: "rooms token",
    summary: "make an access token for a room, or for all; prints it",
    operands: [{ ...ROOM, meaning: "the room's name; absent: every room", optional: true }],
    flags: [
      { name: "name", value: "TEXT", meaning: "what its holder is called" },
      { name: "email", value: "TEXT", meaning: "the holder's address" },
      { name: "user", value: "TEXT", meaning: "the holder's id with you (externalUserId)" },
      { name: "admin", meaning: "the holder is an admin of the room; without NAME it needs --global" },
      { name: "global", meaning: "for every room" },
      { ...EXPIRES, meaning: `not good after it: ${WHEN}` },
      { ...NOT_BEFORE, meaning: `not good before it: ${WHEN}` },
      FIELDS_FLAG,
      ...APPLICATION,
    ],
    examples: ["parley rooms token standup --name Alice --admin", "parley rooms token --user 42"],
    load: async () => (await import("../rooms.ts")).token,
  },
  {
    name: "rooms check",
    summary: "say whether an access token is good",
    operands: [{ name: "TOKEN", meaning: "the token; - or nothing: read it from stdin", optional: true }],
    flags: [{ name: "room", value: "NAME", meaning: "for this room, now" }, ...APPLICATION],
    details: "The exit code is 1 when the token is refused. It needs no secret key.",
    examples: ["parley rooms token standup | parley rooms check - --room standup"],
    load: async () => (await import("../rooms.ts")).check,
  },
];
