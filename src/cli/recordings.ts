/** `parley recordings …`: on the application's own host. */
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { isObject } from "../protocol/json.ts";
import { applicationApi, applicationHost } from "./client.ts";
import type { Answer } from "./command.ts";
import { Failure, UsageError } from "./errors.ts";
import type { Given } from "./given.ts";
import { fields, table, time } from "./output.ts";
import { humanBytes } from "./progress.ts";
import { receive, send, type Target } from "./transfer.ts";

interface Recording {
  readonly _id: string;
  readonly room: string;
  readonly participantUsername: string;
  readonly participantSession: string;
  readonly meetingSession: string;
  readonly fileName: string;
  readonly sizeInBytes: number;
  readonly type: string;
  readonly startTime: number;
  readonly endTime: number;
}

interface Page {
  readonly data: Recording[];
  readonly total: number;
  readonly currEndId: string;
}

export const TYPES = ["video", "audio", "screen", "composition"];
const PAGE = 100;
const LISTED = 50;

const recordingPath = (given: Given): string => `/recording/${given.id(0, "the id of a recording")}`;

const shown = (one: Recording): string =>
  fields({
    recording: one._id,
    room: one.room,
    type: one.type,
    username: one.participantUsername,
    "meeting session": one.meetingSession,
    "participant session": one.participantSession,
    file: one.fileName,
    bytes: one.sizeInBytes,
    started: time(one.startTime),
    ended: time(one.endTime),
  });

export async function list(given: Given): Promise<Answer> {
  const api = applicationApi(given);
  const wanted = given.whole("limit") ?? LISTED;
  const filters = filterQuery(given);
  const data: Recording[] = [];
  let total = 0;
  for (let end = "", more = wanted > 0; more; ) {
    const limit = Math.min(PAGE, wanted - data.length);
    const page = await api.get<Page>(`/recordings?${filters}&limit=${limit}${end && `&endId=${end}`}`);
    data.push(...page.data);
    ({ total, currEndId: end } = page);
    more = page.data.length === limit && data.length < wanted;
  }
  const value = { data, total };
  if (data.length === 0) return { value, text: "", notes: ["There are no such recordings."] };
  const rows = data.map((one) => [
    one._id,
    one.room,
    one.type,
    one.participantUsername,
    humanBytes(one.sizeInBytes),
    time(one.startTime),
    time(one.endTime),
  ]);
  const head = ["RECORDING", "ROOM", "TYPE", "USERNAME", "SIZE", "STARTED", "ENDED"];
  const notes = total > data.length ? [`${data.length} of ${total}; --limit shows more.`] : [];
  return { value, text: table(head, rows), notes };
}

function filterQuery(given: Given): string {
  const pairs = {
    room: given.text("room"),
    meetingSession: given.text("meeting-session"),
    participantSession: given.text("participant-session"),
    participantUsername: given.text("username"),
    type: given.oneOf("type", TYPES),
    startedAfter: given.momentOrNone("started-after"),
    startedBefore: given.momentOrNone("started-before"),
  };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(pairs)) if (value != null) query.set(name, String(value));
  return query.toString();
}

export async function show(given: Given): Promise<Answer> {
  const one = await applicationApi(given).get<Recording>(recordingPath(given));
  return { value: one, text: shown(one) };
}

export async function remove(given: Given): Promise<Answer> {
  const answer = await applicationApi(given).delete<{ message: string }>(recordingPath(given));
  return { value: answer, text: "", notes: [`${answer.message}.`] };
}

export async function upload(given: Given): Promise<Answer> {
  const file = given.word(0);
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found?.isFile()) throw new UsageError(`${file} is not a file`);
  const api = applicationApi(given);
  const notes: string[] = [];
  const note = new Note(file, found);
  let begun = note.read();
  if (begun) notes.push(`Went on with the upload ${begun._id} that was begun before.`);
  else {
    begun = await api.post<Begun>("/recording", {
      room: given.needed("room"),
      participantUsername: given.needed("username"),
      type: given.oneOf("type", TYPES) ?? "video",
      startTime: given.momentOrNone("start") ?? undefined,
      meetingSession: given.text("meeting-session"),
      participantSession: given.text("participant-session"),
    });
    note.write(begun);
  }
  try {
    await send(file, found.size, reach(given, begun.uploadUrl));
    const endTime = given.momentOrNone("end") ?? undefined;
    const one = await api.post<Recording>(`/recording/${begun._id}/complete`, { endTime });
    note.remove();
    return { value: one, text: shown(one), notes };
  } catch (error) {
    // It has ended at the server: the same command begins anew. Anything else may be gone on with.
    if (error instanceof Failure && ["recording_not_found", "link_not_valid"].includes(error.code)) note.remove();
    throw error;
  }
}

interface Begun {
  readonly _id: string;
  readonly uploadUrl: string;
}

/** What an upload that was interrupted needs to go on: beside the file, for its owner alone, until it is complete. */
class Note {
  private readonly path: string;
  private readonly file: { size: number; mtimeMs: number };

  constructor(file: string, { size, mtimeMs }: { size: number; mtimeMs: number }) {
    this.path = `${file}.parley-upload`;
    this.file = { size, mtimeMs };
  }

  /** undefined: there is none, or the file is another one by now. */
  read(): Begun | undefined {
    if (!existsSync(this.path)) return undefined;
    try {
      const value: unknown = JSON.parse(readFileSync(this.path, "utf8"));
      if (!isObject(value) || value.size !== this.file.size || value.mtimeMs !== this.file.mtimeMs) return undefined;
      const { _id, uploadUrl } = value;
      return typeof _id === "string" && typeof uploadUrl === "string" ? { _id, uploadUrl } : undefined;
    } catch {
      return undefined;
    }
  }

  write(begun: Begun): void {
    try {
      writeFileSync(this.path, JSON.stringify({ ...begun, ...this.file }), { mode: 0o600 });
    } catch {
      // The folder is not ours to write: then this upload can be gone on with in this command only.
    }
  }

  remove(): void {
    rmSync(this.path, { force: true });
  }
}

export async function download(given: Given): Promise<Answer> {
  const api = applicationApi(given);
  const one = await api.get<Recording>(recordingPath(given));
  // What the server calls it must not lead out of this folder.
  const file = given.word(1) || basename(one.fileName);
  if (existsSync(file) && !given.on("force"))
    throw new UsageError(`${file} exists already; name another file, or replace it with --force`);
  const { url } = await api.get<{ url: string }>(`${recordingPath(given)}/download`);
  await receive(reach(given, url), file, one.sizeInBytes);
  return { value: { ...one, file }, text: fields({ file, bytes: one.sizeInBytes }) };
}

/** A link of this server's as it was reached before; one to somewhere else, such as a bucket, as it is. */
function reach(given: Given, link: string): Target {
  const { base, host } = applicationHost(given);
  const { host: linked, pathname, search } = new URL(link);
  return linked === host ? { url: base + pathname + search, headers: { Host: host } } : { url: link, headers: {} };
}
