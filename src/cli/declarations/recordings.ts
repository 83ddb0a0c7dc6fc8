/** Recordings of an application. */
import type { Command, Flag, Operand } from "../line/command.ts";
import { RECORDINGS_LISTED_DEFAULT } from "../line/defaults.ts";
import { APPLICATION, FORCE, forLists, YES } from "../line/flags.ts";

const RECORDING: Operand = { name: "ID", meaning: "the recording's id" };
const WHEN = "Unix seconds, a date such as 2030-01-31T18:00:00Z, or a time ago such as 2h or 7d";

const ROOM: Flag = { name: "room", value: "NAME", meaning: "id or name of the room" };
const USERNAME: Flag = { name: "username", value: "TEXT", meaning: "the participant's name" };
const TYPE: Flag = {
  name: "type",
  value: "TYPE",
  meaning: "video, audio, screen or composition",
  choices: ["video", "audio", "screen", "composition"],
};
const MEETING: Flag = { name: "meeting-session", value: "ID", meaning: "id of the meeting" };
const PARTICIPANT: Flag = {
  name: "participant-session",
  value: "ID",
  meaning: "id of the participant's stay in the meeting",
};

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
      { name: "started-after", value: "TIME", meaning: `started at this time or later: ${WHEN}` },
      { name: "started-before", value: "TIME", meaning: `started before this time: ${WHEN}` },
      { name: "limit", value: "N", meaning: `the maximum number (${RECORDINGS_LISTED_DEFAULT})` },
      ...forLists(APPLICATION),
    ],
    examples: [
      "parley recordings list --started-after 1d",
      "parley recordings list --room standup --type video --started-after 2030-01-01T00:00:00Z --limit 200",
    ],
    load: async () => (await import("../commands/application/recordings.ts")).list,
  },
  {
    name: "recordings show",
    summary: "show one recording",
    operands: [RECORDING],
    flags: APPLICATION,
    examples: ["parley recordings show 0123456789abcdef01234567"],
    load: async () => (await import("../commands/application/recordings.ts")).show,
  },
  {
    name: "recordings upload",
    summary: "upload a file as a recording",
    operands: [{ name: "FILE", meaning: "the file to upload" }],
    flags: [
      { ...ROOM, required: true },
      { ...USERNAME, required: true },
      { ...TYPE, meaning: `${TYPE.meaning} (video)` },
      { name: "start", value: "TIME", meaning: `when the recording started (now): ${WHEN}` },
      { name: "end", value: "TIME", meaning: `when the recording ended (now): ${WHEN}` },
      { ...MEETING, meaning: `${MEETING.meaning}; default: a new id` },
      { ...PARTICIPANT, meaning: `${PARTICIPANT.meaning}; default: a new id` },
      ...APPLICATION,
    ],
    details: `If the connection fails, the upload resumes where it stopped. If the command itself is interrupted, repeat it to resume:
until the upload is complete, FILE.parley-upload holds the state for that. Keep it as secret as the file.`,
    examples: ["parley recordings upload talk.webm --room standup --username alice"],
    load: async () => (await import("../commands/application/recordings.ts")).upload,
  },
  {
    name: "recordings download",
    summary: "download a recording's file",
    operands: [
      RECORDING,
      { name: "FILE", meaning: "the file to write; default: the recording's name, in this folder", optional: true },
    ],
    flags: [FORCE, ...APPLICATION],
    details: "An incomplete download is stored in FILE.partial; repeat the command to resume.",
    examples: ["parley recordings download 0123456789abcdef01234567 talk.webm"],
    load: async () => (await import("../commands/application/recordings.ts")).download,
  },
  {
    name: "recordings delete",
    summary: "delete a recording and its file, or cancel an upload",
    operands: [RECORDING],
    flags: [YES, ...APPLICATION],
    details: "This cannot be undone. The command asks for confirmation; without a terminal it needs --yes.",
    examples: [
      "parley recordings delete 0123456789abcdef01234567",
      "parley recordings delete 0123456789abcdef01234567 --yes",
    ],
    load: async () => (await import("../commands/application/recordings.ts")).remove,
  },
];
