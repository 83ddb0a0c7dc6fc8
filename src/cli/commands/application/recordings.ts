/** `parley recordings …`: calls the application's own host. */
import { existsSync, rmSync, statSync } from "node:fs";
import { basename } from "node:path";
import { humanBytes } from "../../../base/human-bytes.ts";
import { isOtherUser, readWithOwner, writePrivateFile } from "../../../base/private-file.ts";
import { isObject } from "../../../protocol/json.ts";
import { applicationHost, trustIn } from "../../calls/address.ts";
import { applicationApi } from "../../calls/application-api.ts";
import type { Server } from "../../calls/client.ts";
import type { CommandResult } from "../../line/command.ts";
import { RECORDINGS_LISTED_DEFAULT } from "../../line/defaults.ts";
import { Failure, UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { confirm } from "../../terminal/confirm.ts";
import { fields, table, time } from "../../terminal/output.ts";
import { humanSeconds } from "../../terminal/progress.ts";
import { receive, send, type Target } from "./transfer.ts";

interface Recording {
  readonly _id: string;
  readonly room: string;
  readonly participantUsername: string;
  readonly participantSession: string;
  readonly meetingSession: string;
  readonly downloadName: string;
  readonly sizeInBytes: number;
  readonly type: string;
  readonly startTime: number;
  readonly endTime: number;
  /** Only of recordings that a page of a meeting has made. */
  readonly mended?: boolean;
  readonly hasThumbnail?: boolean;
  /** Absent: not measured. */
  readonly speechMs?: number;
}

interface Page {
  readonly data: Recording[];
  readonly total: number;
  readonly currEndId: string;
}

const TYPES = ["video", "audio", "screen", "composition"];
const PAGE_MAX = 100;
/** Pages of rooms that are searched for the names of rooms in a list. */
const ROOM_PAGES_MAX = 10;

const mendedText = ({ mended }: Recording): string | undefined =>
  mended === undefined ? undefined : mended ? "yes" : "no";

const recordingPath = (input: Input): string => `/recording/${input.id(0, "the id of a recording")}`;

/** With the name of the room, which costs requests: JSON has the id. */
const shown = async (input: Input, api: Server, one: Recording): Promise<Pick<CommandResult, "value" | "text">> => {
  const names = input.isOn("json") ? undefined : await roomNames(api, new Set([one.room]));
  return { value: one, text: describe(one, names?.get(one.room) ?? one.room) };
};

const describe = (one: Recording, room: string): string =>
  fields({
    recording: one._id,
    room,
    type: one.type,
    username: one.participantUsername,
    "meeting session": one.meetingSession,
    "participant session": one.participantSession,
    file: one.downloadName,
    bytes: one.sizeInBytes,
    started: time(one.startTime),
    ended: time(one.endTime),
    length: humanSeconds(one.endTime - one.startTime),
    spoke: one.speechMs === undefined ? undefined : humanSeconds(one.speechMs / 1000),
    mended: mendedText(one),
  });

export async function list(input: Input): Promise<CommandResult> {
  const api = applicationApi(input);
  const wanted = input.whole("limit") ?? RECORDINGS_LISTED_DEFAULT;
  const filters = filterQuery(input);
  const data: Recording[] = [];
  let total = 0;
  for (let end = "", more = wanted > 0; more; ) {
    const limit = Math.min(PAGE_MAX, wanted - data.length);
    const page = await api.get<Page>(`/recordings?${filters}&limit=${limit}${end && `&endId=${end}`}`);
    data.push(...page.data);
    ({ total, currEndId: end } = page);
    more = page.data.length === limit && data.length < wanted;
  }
  if (data.length === 0) return { value: data, text: "", notes: ["No recordings match."] };
  const names = await roomNames(api, new Set(data.map(({ room }) => room)));
  const rows = data.map((one) => [
    one._id,
    names.get(one.room) ?? one.room,
    one.type,
    one.participantUsername,
    time(one.startTime),
    humanSeconds(one.endTime - one.startTime),
    humanBytes(one.sizeInBytes),
    mendedText(one),
  ]);
  const head = ["RECORDING", "ROOM", "TYPE", { prose: "USERNAME" }, "STARTED", "LENGTH", "SIZE", { prose: "MENDED" }];
  const notes = total > data.length ? [`${data.length} of ${total}; --limit shows more.`] : [];
  return { value: data, text: table(head, rows), notes };
}

/** A room that is archived, or beyond the newest ROOM_PAGES_MAX pages, is shown by its id. */
async function roomNames(api: Server, wanted: ReadonlySet<string>): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  for (let pages = 0, end = ""; pages < ROOM_PAGES_MAX && names.size < wanted.size; pages++) {
    const query = `limit=${PAGE_MAX}${end && `&endId=${end}`}`;
    const page = await api.get<{ data: { _id: string; roomName: string }[]; currEndId: string }>(`/rooms?${query}`);
    for (const { _id, roomName } of page.data) if (wanted.has(_id)) names.set(_id, roomName);
    end = page.currEndId;
    if (page.data.length < PAGE_MAX) break;
  }
  return names;
}

function filterQuery(input: Input): string {
  const pairs = {
    room: input.text("room"),
    meetingSession: input.text("meeting-session"),
    participantSession: input.text("participant-session"),
    participantUsername: input.text("username"),
    type: input.oneOf("type", TYPES),
    startedAfter: input.timeOrNone("started-after", "ago"),
    startedBefore: input.timeOrNone("started-before", "ago"),
  };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(pairs)) if (value != null) query.set(name, String(value));
  return query.toString();
}

export async function show(input: Input): Promise<CommandResult> {
  const api = applicationApi(input);
  return shown(input, api, await api.get<Recording>(recordingPath(input)));
}

export async function remove(input: Input): Promise<CommandResult> {
  const api = applicationApi(input);
  const path = recordingPath(input);
  await confirm(input, `delete the recording ${input.operand(0)} and its file`, () => api.get(path));
  const response = await api.delete<{ message: string }>(path);
  return { value: response, text: `${response.message}.\n` };
}

export async function upload(input: Input): Promise<CommandResult> {
  const file = input.operand(0);
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found?.isFile()) throw new UsageError(`${file} is not a file`);
  const api = applicationApi(input);
  const notes: string[] = [];
  const state = new UploadState(file, found);
  let upload = state.read();
  if (upload) notes.push(`Resumed the upload ${upload._id}.`);
  else {
    upload = await api.post<OpenUpload>("/recording", {
      room: input.required("room"),
      participantUsername: input.required("username"),
      type: input.oneOf("type", TYPES) ?? "video",
      startTime: input.timeOrNone("start", "ago") ?? undefined,
      meetingSession: input.text("meeting-session"),
      participantSession: input.text("participant-session"),
    });
    state.write(upload);
  }
  try {
    await send(file, found.size, targetOf(input, upload.uploadUrl));
    const endTime = input.timeOrNone("end", "ago") ?? undefined;
    const one = await api.post<Recording>(`/recording/${upload._id}/complete`, { endTime });
    state.remove();
    return { ...(await shown(input, api, one)), notes };
  } catch (error) {
    // The upload no longer exists on the server, so the next run must start a new one. After other errors it can resume.
    if (error instanceof Failure && ["recording_not_found", "link_not_valid"].includes(error.code)) state.remove();
    throw error;
  }
}

interface OpenUpload {
  readonly _id: string;
  readonly uploadUrl: string;
}

const STATE_MAX_BYTES = 10_000;

/** What an interrupted upload needs to resume. It is kept beside the file, readable only by its owner, until the upload is complete. */
class UploadState {
  private readonly path: string;
  private readonly file: { size: number; mtimeMs: number };

  constructor(file: string, { size, mtimeMs }: { size: number; mtimeMs: number }) {
    this.path = `${file}.parley-upload`;
    this.file = { size, mtimeMs };
  }

  /** undefined if there is none, or the file has changed since. One of another user could send the recording to that user. */
  read(): OpenUpload | undefined {
    try {
      const found = readWithOwner(this.path, STATE_MAX_BYTES);
      if (!found || isOtherUser(found.owner)) return undefined;
      const value: unknown = JSON.parse(found.text);
      if (!isObject(value) || value.size !== this.file.size || value.mtimeMs !== this.file.mtimeMs) return undefined;
      const { _id, uploadUrl } = value;
      return typeof _id === "string" && typeof uploadUrl === "string" ? { _id, uploadUrl } : undefined;
    } catch {
      return undefined;
    }
  }

  write(upload: OpenUpload): void {
    try {
      writePrivateFile(this.path, JSON.stringify({ ...upload, ...this.file }));
    } catch {
      // Without write permission in the folder, another run of the command cannot resume this upload.
    }
  }

  remove(): void {
    try {
      rmSync(this.path, { force: true });
    } catch {
      // It belongs to another user, and was not used.
    }
  }
}

export async function download(input: Input): Promise<CommandResult> {
  const api = applicationApi(input);
  const one = await api.get<Recording>(recordingPath(input));
  // The name from the server must not lead out of this folder.
  const file = input.operand(1) || basename(one.downloadName);
  if (existsSync(file) && !input.isOn("force"))
    throw new UsageError(`${file} already exists; choose another file, or replace it with --force`);
  const { url } = await api.get<{ url: string }>(`${recordingPath(input)}/download`);
  await receive(targetOf(input, url), file, one.sizeInBytes);
  return { value: { ...one, file }, text: fields({ file, bytes: one.sizeInBytes }) };
}

/** A link to this server goes to the address that the user gave; a link to a bucket stays unchanged. */
function targetOf(input: Input, link: string): Target {
  const { base, host } = applicationHost(input);
  const { host: linkHost, pathname, search } = new URL(link);
  if (linkHost !== host) return { url: link, headers: {} };
  return { url: base + pathname + search, headers: { Host: host }, ...trustIn(input, base) };
}
