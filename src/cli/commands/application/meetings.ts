/** `parley rooms open|meetings|meeting|end|record|stop-recording|remove`: meetings in rooms. Calls the application's own host, as the other commands of rooms do. */
import { HOST_LINK_MAX_SEC } from "../../../protocol/limits.ts";
import { roomPage } from "../../calls/address.ts";
import { applicationApi } from "../../calls/application-api.ts";
import type { CommandResult } from "../../line/command.ts";
import { HOST_LINK_MINUTES, MEETINGS_LISTED_DEFAULT } from "../../line/defaults.ts";
import { Failure, UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { confirm } from "../../terminal/confirm.ts";
import { fields, table, time } from "../../terminal/output.ts";

interface Meeting {
  readonly _id: string;
  readonly roomName: string;
  readonly active: boolean;
  readonly locked: boolean;
  /** Absent while it is not recorded. `by` is empty where the service started it. */
  readonly recording?: { readonly by: string; readonly since: number };
  readonly startTime: number;
  readonly endTime?: number;
}

interface Participant {
  readonly _id: string;
  readonly name: string;
  readonly externalUserId?: string;
  readonly isAdmin: boolean;
  readonly isGuest: boolean;
  readonly startTime: number;
  readonly endTime?: number;
  readonly endReason?: string;
}

interface Room {
  readonly roomName: string;
  readonly expireUnixSec?: number;
}

/** Whether the meeting is recorded now. */
interface Recording {
  readonly recording: boolean;
}

const PAGE_MAX = 100;

const roomPath = (input: Input): string => `/room/${input.id(0, "the name of a room")}`;

/** A link that lets its holder in as an admin. */
export async function open(input: Input): Promise<CommandResult> {
  const validSec = input.seconds("valid") ?? HOST_LINK_MINUTES * 60;
  if (validSec < 1 || validSec > HOST_LINK_MAX_SEC)
    throw new UsageError(
      `--valid is ${JSON.stringify(input.text("valid"))}; a link is valid for at most ${HOST_LINK_MAX_SEC / 86_400}d`,
    );
  const api = applicationApi(input);
  const { roomName, expireUnixSec } = await api.get<Room>(roomPath(input));
  const now = Math.floor(Date.now() / 1000);
  // The expiry of a token takes precedence over the room's: the link must not open a room that is over.
  const expiresAt = Math.min(now + validSec, expireUnixSec ?? Number.POSITIVE_INFINITY);
  if (expiresAt <= now)
    throw new Failure(
      "room_over",
      `${roomName} has expired; change that with "parley rooms edit ${roomName} --expires none"`,
    );
  const wanted = { roomName, isAdmin: true, expireUnixSec: expiresAt, name: input.text("name") };
  const { token } = await api.post<{ token: string }>("/token", wanted);
  const page = roomPage(input, roomName);
  const url = `${page}#token=${token}`;
  return {
    value: { url, expiresAt },
    // Only the link goes to stdout, for `xdg-open $(parley rooms open …)`.
    text: `${url}\n`,
    notes: [`Anyone who opens it joins as an admin, until ${time(expiresAt)}. Others enter at ${page}`],
  };
}

export async function list(input: Input): Promise<CommandResult> {
  const api = applicationApi(input);
  const wanted = input.whole("limit") ?? MEETINGS_LISTED_DEFAULT;
  const [room] = input.operands;
  const filter = { ...(room !== undefined && { room }), ...(input.isOn("active") && { active: "true" }) };
  const data: Meeting[] = [];
  let total = 0;
  for (let end = "", more = wanted > 0; more; ) {
    const limit = Math.min(PAGE_MAX, wanted - data.length);
    const query = new URLSearchParams({ ...filter, limit: String(limit), ...(end !== "" && { endId: end }) });
    const page = await api.get<{ data: Meeting[]; total: number; currEndId: string }>(`/meetings?${query}`);
    data.push(...page.data);
    ({ total, currEndId: end } = page);
    more = page.data.length === limit && data.length < wanted;
  }
  if (data.length === 0) return { value: data, text: "", notes: ["No meetings match."] };
  const rows = data.map((one) => [
    one._id,
    one.roomName,
    time(one.startTime),
    one.active ? "goes on" : time(one.endTime),
    one.locked ? "locked" : undefined,
    one.recording && "records",
  ]);
  const notes = total > data.length ? [`${data.length} of ${total}; --limit shows more.`] : [];
  return { value: data, text: table(["MEETING", "ROOM", "STARTED", "ENDED", "LOCK", "RECORDING"], rows), notes };
}

const recordingText = ({ recording }: Meeting): string =>
  recording ? `since ${time(recording.since)}, started by ${recording.by || "the service"}` : "no";

export async function show(input: Input): Promise<CommandResult> {
  const path = `/meeting/${input.id(0, "the id of a meeting")}`;
  const one = await applicationApi(input).get<Meeting & { participants: Participant[] }>(path);
  const head = fields({
    meeting: one._id,
    room: one.roomName,
    started: time(one.startTime),
    ended: one.active ? "goes on" : time(one.endTime),
    locked: one.locked ? "yes" : "no",
    recording: recordingText(one),
  });
  const rows = one.participants.map((each) => [
    each._id,
    each.name,
    each.externalUserId,
    each.isAdmin ? "admin" : each.isGuest ? "guest" : undefined,
    time(each.startTime),
    time(each.endTime),
    each.endReason ?? "inside",
  ]);
  const columns = ["PARTICIPANT", { prose: "NAME" }, "USER", "ROLE", "FROM", "TO", "STATE"];
  return { value: one, text: `${head}\n${table(columns, rows)}` };
}

export async function end(input: Input): Promise<CommandResult> {
  const api = applicationApi(input);
  const path = roomPath(input);
  await confirm(input, `end the meeting of ${input.operand(0)} for everyone`, () => api.get(path));
  const response = await api.post<{ ended: number }>(`${path}/end`);
  return { value: response, text: `${endedText(response.ended)}\n` };
}

function endedText(people: number): string {
  if (people === 0) return "The room was empty.";
  return `The meeting has ended; ${people === 1 ? "1 person was" : `${people} people were`} inside.`;
}

export async function record(input: Input): Promise<CommandResult> {
  const response = await applicationApi(input).post<Recording>(`${roomPath(input)}/recording/start`);
  return { value: response, text: "Recording the meeting; all participants can see that.\n" };
}

export async function stopRecording(input: Input): Promise<CommandResult> {
  const response = await applicationApi(input).post<Recording>(`${roomPath(input)}/recording/stop`);
  return { value: response, text: "Recording stopped.\n" };
}

export async function remove(input: Input): Promise<CommandResult> {
  const path = `${roomPath(input)}/participant/${input.id(1, "the id of a participant")}`;
  const response = await applicationApi(input).delete<{ message: string }>(path);
  return { value: response, text: `${response.message}.\n` };
}
