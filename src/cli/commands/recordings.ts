/** Recordings of an application: listed, sent, fetched, deleted. */
import type { Command, Flag, Operand } from "../command.ts";
import { APPLICATION, FORCE } from "../flags.ts";

const RECORDING: Operand = { name: "ID", meaning: "the recording's id" };
const WHEN = "Unix seconds, or a date such as 2030-01-31T18:00:00Z";

const ROOM: Flag = { name: "room", value: "NAME", meaning: "id or name of the room" };
const USERNAME: Flag = { name: "username", value: "TEXT", meaning: "whose recording it is" };
const TYPE: Flag = { name: "type", value: "TYPE", meaning: "video, audio, screen or composition" };
const MEETING: Flag = { name: "meeting-session", value: "ID", meaning: "of which meeting" };
const PARTICIPANT: Flag = { name: "participant-session", value: "ID", meaning: "of whose stay in it" };

export const RECORDINGS: readonly Command[] = [
  {
    name: "recordings list",
    summary: "list recordings, newest first",
    flags: [
      ROOM,
      USERNAME,
      TYPE,
      MEETING,
      PARTICIPANT,
      { name: "started-after", value: "TIME", meaning: `started then or later: ${WHEN}` },
      { name: "started-before", value: "TIME", meaning: `started before then: ${WHEN}` },
      { name: "limit", value: "N", meaning: "how many (50)" },
      ...APPLICATION,
    ],
    examples: [
      "parley recordings list",
      "parley recordings list --room standup --type video --started-after 2030-01-01T00:00:00Z --limit 200",
    ],
    load: async () => (await import("../recordings.ts")).list,
  },
  {
    name: "recordings show",
    summary: "show one recording",
    operands: [RECORDING],
    flags: APPLICATION,
    examples: ["parley recordings show 0123456789abcdef01234567"],
    load: async () => (await import("../recordings.ts")).show,
  },
  {
    name: "recordings upload",
    summary: "send a file as a recording",
    operands: [{ name: "FILE", meaning: "the file to send" }],
    flags: [
      { ...ROOM, required: true },
      { ...USERNAME, required: true },
      { ...TYPE, meaning: `${TYPE.meaning} (video)` },
      { name: "start", value: "TIME", meaning: `when it began (now): ${WHEN}` },
      { name: "end", value: "TIME", meaning: `when it ended (now): ${WHEN}` },
      { ...MEETING, meaning: `${MEETING.meaning}; a fresh id if absent` },
      { ...PARTICIPANT, meaning: `${PARTICIPANT.meaning}; a fresh id if absent` },
      ...APPLICATION,
    ],
    details: `A connection that breaks is taken up again where it broke; so is a command that was ended, by the same command: until
the upload is complete, FILE.parley-upload keeps what that needs. It must be kept as secret as the file.`,
    examples: ["parley recordings upload talk.webm --room standup --username alice"],
    load: async () => (await import("../recordings.ts")).upload,
  },
  {
    name: "recordings download",
    summary: "fetch a recording's file",
    operands: [RECORDING, { name: "FILE", meaning: "where to; absent: its own name, here", optional: true }],
    flags: [FORCE, ...APPLICATION],
    details: "What has arrived is in FILE.partial until all is there; the same command goes on from it.",
    examples: ["parley recordings download 0123456789abcdef01234567 talk.webm"],
    load: async () => (await import("../recordings.ts")).download,
  },
  {
    name: "recordings delete",
    summary: "delete a recording and its file, or end an upload",
    operands: [RECORDING],
    flags: APPLICATION,
    details: "It cannot be undone, and does not ask.",
    examples: ["parley recordings delete 0123456789abcdef01234567"],
    load: async () => (await import("../recordings.ts")).remove,
  },
];
