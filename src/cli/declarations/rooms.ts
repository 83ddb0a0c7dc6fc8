/** Rooms of an application, and access tokens for them. */
import type { Command, Flag, Operand } from "../line/command.ts";
import { ROOM_FIELD_NAMES, TOKEN_FIELD_NAMES } from "../line/field-names.ts";
import { APPLICATION, forLists, YES } from "../line/flags.ts";

const ROOM: Operand = { name: "NAME", meaning: "the room's name" };
const WHEN = "Unix seconds, a date such as 2030-01-31T18:00:00Z, a time from now such as 2h or 7d, or none";
const fieldsFlag = (fields: readonly string[]): Flag => ({
  name: "fields",
  value: "JSON",
  meaning: "other fields, with their API names",
  fields,
});

const EXPIRES: Flag = { name: "expires", value: "TIME", meaning: `no one can join after this time: ${WHEN}` };
const NOT_BEFORE: Flag = { name: "not-before", value: "TIME", meaning: `no one can join before this time: ${WHEN}` };

const ROOM_FLAGS: readonly Flag[] = [
  { name: "privacy", value: "KIND", meaning: "public or private", choices: ["public", "private"] },
  EXPIRES,
  NOT_BEFORE,
  { name: "delete-on-expiry", value: "on|off", meaning: "archive the room when it expires" },
  { name: "max-participants", value: "N|none", meaning: "participants at the same time" },
  { name: "lang", value: "TAG", meaning: "language of the page: en, pt-BR" },
  fieldsFlag(ROOM_FIELD_NAMES),
];

export const ROOMS: readonly Command[] = [
  {
    name: "rooms create",
    summary: "create a room; without NAME, its name is random",
    operands: [{ ...ROOM, meaning: "1 to 128 characters of A-Z a-z 0-9 _ -", optional: true }],
    flags: [...ROOM_FLAGS, ...APPLICATION],
    examples: [
      "parley rooms create standup",
      `parley rooms create board --privacy private --expires 2030-01-31T18:00:00Z --delete-on-expiry on --fields '{"enableChat":false}'`,
    ],
    load: async () => (await import("../commands/application/rooms.ts")).create,
  },
  {
    name: "rooms list",
    summary: "list the rooms, newest first",
    flags: forLists(APPLICATION),
    examples: ["parley rooms list", "parley rooms list --app shop --json"],
    load: async () => (await import("../commands/application/rooms.ts")).list,
  },
  {
    name: "rooms show",
    summary: "show one room",
    operands: [ROOM],
    flags: APPLICATION,
    examples: ["parley rooms show standup"],
    load: async () => (await import("../commands/application/rooms.ts")).show,
  },
  {
    name: "rooms edit",
    summary: "change a room's fields or its name",
    operands: [ROOM],
    flags: [{ name: "rename", value: "NAME", meaning: "the new name" }, ...ROOM_FLAGS, ...APPLICATION],
    details: "Only the values you pass change.",
    examples: [
      "parley rooms edit standup --rename daily --max-participants 12",
      `parley rooms edit daily --expires none --fields '{"recordRoom":true}'`,
    ],
    load: async () => (await import("../commands/application/rooms.ts")).edit,
  },
  {
    name: "rooms delete",
    summary: "archive a room; its name becomes available again",
    operands: [ROOM],
    flags: [YES, ...APPLICATION],
    details: "This cannot be undone. The command asks for confirmation; without a terminal it needs --yes.",
    examples: ["parley rooms delete standup", "parley rooms delete standup --yes"],
    load: async () => (await import("../commands/application/rooms.ts")).remove,
  },
  {
    name: "rooms token",
    summary: "create an access token for one room or for all, and print it",
    operands: [{ ...ROOM, meaning: "the room's name; default: every room", optional: true }],
    flags: [
      { name: "name", value: "TEXT", meaning: "the holder's display name" },
      { name: "email", value: "TEXT", meaning: "the holder's email address" },
      { name: "user", value: "TEXT", meaning: "the holder's id in your system (externalUserId)" },
      { name: "admin", meaning: "makes the holder an admin of the room; without NAME, also pass --global" },
      { name: "global", meaning: "for every room" },
      { ...EXPIRES, meaning: `not valid after this time: ${WHEN}` },
      { ...NOT_BEFORE, meaning: `not valid before this time: ${WHEN}` },
      fieldsFlag(TOKEN_FIELD_NAMES),
      ...APPLICATION,
    ],
    examples: ["parley rooms token standup --name Alice --admin --expires 2h", "parley rooms token --user 42"],
    load: async () => (await import("../commands/application/rooms.ts")).token,
  },
  {
    name: "rooms check",
    summary: "check whether an access token is valid",
    operands: [{ name: "TOKEN", meaning: "the token; omit it or use - to read it from stdin", optional: true }],
    flags: [
      { name: "room", value: "NAME", meaning: "also check that the holder can join this room now" },
      ...APPLICATION,
    ],
    details: "The exit code is 1 if the token is refused. No app secret is needed.",
    examples: ["parley rooms token standup | parley rooms check - --room standup"],
    load: async () => (await import("../commands/application/rooms.ts")).check,
  },
];
