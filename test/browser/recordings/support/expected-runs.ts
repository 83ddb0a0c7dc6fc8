/** Compares what is listed with what pages have recorded and sent. */
import { expect } from "bun:test";
import type { Application } from "../../../support/application.ts";
import { SLACK_MS } from "../../../support/slack.ts";
import type { Seen } from "./listed-recordings.ts";
import { lookAtBytes } from "./media-files.ts";
import type { RecordedPerson, RecorderRun } from "./recorded-person.ts";
import type { SentUpload } from "./sent-recordings.ts";

const TYPES: Readonly<Record<string, string>> = { camera: "video", microphone: "audio", screen: "screen" };
const CODECS: Readonly<Record<string, readonly string[]>> = {
  camera: ["opus", "vp8"],
  microphone: ["opus"],
  screen: ["vp8"],
};
const EXACT_SEC = 1;
/** Times of a record are whole seconds, and on a busy machine the first frame comes a moment after its recorder has started. */
const TIME_SEC = 3;

export interface Expected {
  readonly app: Application;
  readonly roomId: string;
  readonly people: readonly RecordedPerson[];
  readonly listed: readonly Seen[];
  /** How many bytes the service held of uploads whose page was lost for good. */
  readonly arrived: ReadonlyMap<string, number>;
}

interface MeetingRecord {
  readonly _id: string;
  readonly participants: readonly { readonly _id: string; readonly name: string }[];
}

/** What was compared, for the report of a test. */
export interface Compared {
  readonly who: string;
  readonly source: string;
  readonly recordedSec: number;
  readonly arrivedSec: number;
  readonly fileSec: number;
  readonly bytes: number;
}

/** Every run of a recorder that made something is one file, there is no other, and each is what arrived of its run. */
export async function expectRuns(expected: Expected): Promise<Compared[]> {
  const { people, listed } = expected;
  const meeting = await meetingOf(expected);
  const sent = people.flatMap((person) => person.sent.made.map(({ id }) => id));
  expect(listed.map(({ record }) => record._id).sort()).toEqual(sent.sort());
  const compared: Compared[] = [];
  for (const person of people) {
    expect(person.sent.faults).toEqual([]);
    const sources = person.recorded.map(({ source }) => source);
    expect([person.name, person.sent.made.map(({ source }) => source).sort()]).toEqual([person.name, sources.sort()]);
    for (const upload of person.sent.made) {
      const seen = listed.find(({ record }) => record._id === upload.id);
      if (!seen) throw new Error(`${upload.id} is not listed`);
      expectWhose(seen, person, upload, meeting, expected.roomId);
      compared.push(await expectContent(seen, upload, runOf(person, upload), expected.arrived.get(upload.id)));
    }
  }
  return compared;
}

async function meetingOf({ app, roomId }: Expected): Promise<MeetingRecord> {
  const { data } = await app.must<{ data: { _id: string }[] }>("GET", `/meetings?room=${roomId}`);
  expect(data.length).toBe(1);
  return app.must<MeetingRecord>("GET", `/meeting/${data[0]?._id}`);
}

/** Runs of one source come one after the other. */
function runOf({ recorded, sent }: RecordedPerson, { id, source }: SentUpload): RecorderRun {
  const at = sent.made.filter((upload) => upload.source === source).findIndex((upload) => upload.id === id);
  const run = recorded.filter((one) => one.source === source)[at];
  if (!run) throw new Error(`no recorder has made ${id}`);
  return run;
}

function expectWhose(
  { record }: Seen,
  { name }: RecordedPerson,
  { participantSession, source }: SentUpload,
  meeting: MeetingRecord,
  room: string,
): void {
  const type = TYPES[source];
  expect(record).toMatchObject({ room, meetingSession: meeting._id, participantSession, type });
  expect(record.participantUsername).toBe(name);
  expect(meeting.participants.find(({ _id }) => _id === participantSession)?.name).toBe(name);
}

async function expectContent(
  { record, file }: Seen,
  { bytes, source, beginningMs }: SentUpload,
  run: RecorderRun,
  arrivedBytes = bytes.length,
): Promise<Compared> {
  const arrived = await lookAtBytes(bytes.subarray(0, arrivedBytes));
  const came = partsWithin(run, arrivedBytes);
  const recordedSec = ((came.at(-1)?.atMs ?? run.startedMs) - run.startedMs) / 1000;
  const compared = {
    who: record.participantUsername,
    source,
    recordedSec,
    arrivedSec: arrived.endSec,
    fileSec: file.durationSec ?? 0,
    bytes: record.sizeInBytes,
  };
  const isWithin = (a: number, b: number, most: number): boolean => Math.abs(a - b) <= most;
  expect({
    ...compared,
    codecs: [...file.codecs].sort(),
    // A run that was lost before its first frame has nothing to mend.
    isMended: record.mended === arrived.packets > 0,
    isAllThatArrived: file.packets >= arrived.packets - 1,
    isAsLongAsArrived: isWithin(compared.fileSec, arrived.endSec, EXACT_SEC),
    // It can be shorter: on a busy machine, pictures and sound come out of the encoder many seconds after they went in.
    isNoLongerThanRecorded: compared.fileSec <= recordedSec + TIME_SEC,
    isListedWithItsLength: isWithin(record.endTime - record.startTime, compared.fileSec, 1),
    // Never before it, and later by as long as the request was on its way: the page says how long ago it was, and the service knows when that came.
    isListedWithItsStart:
      record.startTime >= Math.floor(run.startedMs / 1000) &&
      record.startTime <= (run.startedMs + beginningMs + SLACK_MS) / 1000 + TIME_SEC,
    hasLostLittle: hasLostLittle(run, came.length),
  }).toEqual({
    ...compared,
    codecs: [...(CODECS[source] ?? [])],
    isMended: true,
    isAllThatArrived: true,
    isAsLongAsArrived: true,
    isNoLongerThanRecorded: true,
    isListedWithItsLength: true,
    isListedWithItsStart: true,
    hasLostLittle: true,
  });
  return compared;
}

/** A tab that is killed, or reloaded, loses what its recorder has not handed on: one part, or those that a busy machine has not yet come to. */
function hasLostLittle({ parts, hasStopped }: RecorderRun, came: number): boolean {
  if (hasStopped) return came === parts.length;
  const lastMs = parts.at(-1)?.atMs ?? 0;
  return parts.slice(came).every(({ atMs }) => lastMs - atMs <= SLACK_MS);
}

/** The parts of a run that are whole within its first bytes. */
function partsWithin({ parts }: RecorderRun, bytes: number): RecorderRun["parts"] {
  let end = 0;
  return parts.filter((part) => {
    end += part.bytes;
    return end <= bytes;
  });
}
