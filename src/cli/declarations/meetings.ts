/** Meetings in the rooms of an application. */
import { DURATION_FORMS } from "../../base/duration.ts";
import type { Command, Operand } from "../line/command.ts";
import { HOST_LINK_MINUTES, MEETINGS_LISTED_DEFAULT } from "../line/defaults.ts";
import { APPLICATION, forLists, YES } from "../line/flags.ts";

const ROOM: Operand = { name: "NAME", meaning: "the room's name" };

export const MEETINGS: readonly Command[] = [
  {
    name: "rooms open",
    summary: "print a link that opens a room as an admin",
    operands: [ROOM],
    flags: [
      { name: "name", value: "TEXT", meaning: "the host's display name; default: the page asks" },
      {
        name: "valid",
        value: "TIME",
        meaning: `how long people can join with it, such as ${DURATION_FORMS}, at most until the room closes (${HOST_LINK_MINUTES}m)`,
      },
      ...APPLICATION,
    ],
    details:
      "The command does not open a browser. Give the link only to the host; everyone else uses the address without the token.",
    examples: ["parley rooms open standup", "parley rooms open standup --name Alice --valid 7d"],
    load: async () => (await import("../commands/application/meetings.ts")).open,
  },
  {
    name: "rooms meetings",
    summary: "list meetings, newest first",
    operands: [{ ...ROOM, meaning: "only meetings in this room, by its name or id", optional: true }],
    flags: [
      { name: "active", meaning: "only meetings in progress" },
      { name: "limit", value: "N", meaning: `the maximum number (${MEETINGS_LISTED_DEFAULT})` },
      ...forLists(APPLICATION),
    ],
    examples: ["parley rooms meetings standup", "parley rooms meetings --active --json"],
    load: async () => (await import("../commands/application/meetings.ts")).list,
  },
  {
    name: "rooms meeting",
    summary: "show one meeting with its participants",
    operands: [{ name: "ID", meaning: "the meeting's id" }],
    flags: APPLICATION,
    examples: ["parley rooms meeting 0123456789abcdef01234567"],
    load: async () => (await import("../commands/application/meetings.ts")).show,
  },
  {
    name: "rooms end",
    summary: "end the meeting of a room for all participants",
    operands: [ROOM],
    flags: [YES, ...APPLICATION],
    details:
      "The command asks for confirmation; without a terminal it needs --yes. The room stays, and the next person to join starts a new meeting.",
    examples: ["parley rooms end standup", "parley rooms end standup --yes"],
    load: async () => (await import("../commands/application/meetings.ts")).end,
  },
  {
    name: "rooms record",
    summary: "record the meeting of a room, until it ends or is stopped",
    operands: [ROOM],
    flags: APPLICATION,
    details: `All participants see who started the recording. Each page records its own audio and video after its participant agrees.
"parley recordings list --room NAME" lists the recordings.`,
    examples: ["parley rooms record standup"],
    load: async () => (await import("../commands/application/meetings.ts")).record,
  },
  {
    name: "rooms stop-recording",
    summary: "stop recording the meeting of a room",
    operands: [ROOM],
    flags: APPLICATION,
    details: "Pages upload what they recorded; each file is listed once it is complete.",
    examples: ["parley rooms stop-recording standup"],
    load: async () => (await import("../commands/application/meetings.ts")).stopRecording,
  },
  {
    name: "rooms remove",
    summary: "remove a participant from the meeting of a room",
    operands: [ROOM, { name: "PARTICIPANT", meaning: 'its id, from "parley rooms meeting"' }],
    flags: APPLICATION,
    details: "Their access token is refused until the meeting ends. A guest without a token can join again.",
    examples: ["parley rooms remove standup 0123456789abcdef01234567"],
    load: async () => (await import("../commands/application/meetings.ts")).remove,
  },
];
