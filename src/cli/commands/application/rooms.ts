/** `parley rooms …`: rooms and access tokens. Calls the application's own host. */
import { appNamed, roomPage } from "../../calls/address.ts";
import { applicationApi, openApplicationApi } from "../../calls/application-api.ts";
import type { CommandResult } from "../../line/command.ts";
import { Failure, UsageError } from "../../line/errors.ts";
import { ROOM_FIELD_NAMES, TOKEN_FIELD_NAMES } from "../../line/field-names.ts";
import type { Input } from "../../line/input.ts";
import { confirm } from "../../terminal/confirm.ts";
import { type Cell, fields, isoTime, table, time } from "../../terminal/output.ts";
import { tokenOf } from "../control/token.ts";

interface Room {
  readonly _id: string;
  readonly roomName: string;
  readonly created: string;
  readonly privacy: string;
  readonly deleteOnExp: boolean;
  readonly expireUnixSec?: number;
  readonly notBeforeUnixSec?: number;
  readonly [more: string]: string | number | boolean | undefined;
}

const PAGE_MAX = 100;
const TIMES = ["expireUnixSec", "notBeforeUnixSec"];

const roomPath = (input: Input): string => `/room/${input.id(0, "the name of a room")}`;

/** All fields, with the names of the API, and where people enter. */
const describe = (room: Room, input: Input): string =>
  fields({
    ...Object.fromEntries(
      Object.entries(room).map(([name, value]): [string, Cell] => [
        name,
        TIMES.includes(name) ? time(Number(value)) : String(value),
      ]),
    ),
    created: isoTime(room.created),
    // The API has its id, which people do not know it by.
    app: appNamed(input),
    page: roomPage(input, room.roomName),
  });

/** The fields of --fields and of the other flags, which take precedence. */
const fieldsOf = (input: Input): Record<string, unknown> => ({
  ...input.fields("fields", ROOM_FIELD_NAMES, '{"recordRoom":true}'),
  ...defined({
    privacy: input.oneOf("privacy", ["public", "private"]),
    expireUnixSec: input.timeOrNone("expires", "from now"),
    notBeforeUnixSec: input.timeOrNone("not-before", "from now"),
    deleteOnExp: input.onOff("delete-on-expiry"),
    maxParticipants: input.wholeOrNone("max-participants"),
    lang: input.text("lang"),
  }),
});

const defined = (pairs: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(pairs).filter(([, value]) => value !== undefined));

export async function create(input: Input): Promise<CommandResult> {
  const roomName = input.operand(0) || undefined;
  const api = applicationApi(input);
  const room = await api.post<Room>("/room", { ...fieldsOf(input), ...defined({ roomName }) });
  return { value: room, text: describe(room, input), notes: api.ignoredNotes() };
}

export async function list(input: Input): Promise<CommandResult> {
  const api = applicationApi(input);
  const data: Room[] = [];
  for (let end = "", more = true; more; ) {
    const query = `limit=${PAGE_MAX}${end && `&endId=${end}`}`;
    const page = await api.get<{ data: Room[]; currEndId: string }>(`/rooms?${query}`);
    data.push(...page.data);
    end = page.currEndId;
    more = page.data.length === PAGE_MAX;
  }
  if (data.length === 0) return { value: data, text: "", notes: ["There are no rooms yet."] };
  const rows = data.map((room) => [
    room.roomName,
    room._id,
    room.privacy,
    time(room.notBeforeUnixSec),
    time(room.expireUnixSec),
    room.deleteOnExp ? "is archived" : undefined,
    isoTime(room.created),
  ]);
  const head = ["NAME", "ID", "PRIVACY", "NOT BEFORE", "EXPIRES", "ON EXPIRY", "CREATED"];
  return { value: data, text: table(head, rows) };
}

export async function show(input: Input): Promise<CommandResult> {
  const room = await applicationApi(input).get<Room>(roomPath(input));
  return { value: room, text: describe(room, input) };
}

export async function edit(input: Input): Promise<CommandResult> {
  const change = { ...fieldsOf(input), ...defined({ roomName: input.text("rename") }) };
  if (Object.keys(change).length === 0)
    throw new UsageError('nothing to change: name a flag, or --fields; see "parley help rooms edit"');
  const api = applicationApi(input);
  const room = await api.put<Room>(roomPath(input), change);
  return { value: room, text: describe(room, input), notes: api.ignoredNotes() };
}

export async function remove(input: Input): Promise<CommandResult> {
  const api = applicationApi(input);
  const path = roomPath(input);
  await confirm(input, `delete the room ${input.operand(0)}`, () => api.get(path));
  const response = await api.delete<{ message: string }>(path);
  return { value: response, text: `${response.message}.\n` };
}

export async function token(input: Input): Promise<CommandResult> {
  const wanted = {
    ...input.fields("fields", TOKEN_FIELD_NAMES, '{"joinVideoOn":true}'),
    ...defined({
      roomName: input.operand(0) || undefined,
      name: input.text("name"),
      email: input.text("email"),
      externalUserId: input.text("user"),
      isAdmin: input.isOn("admin") || undefined,
      globalToken: input.isOn("global") || undefined,
      expireUnixSec: input.timeOrNone("expires", "from now"),
      notBeforeUnixSec: input.timeOrNone("not-before", "from now"),
    }),
  };
  const api = applicationApi(input);
  const minted = await api.post<{ token: string }>("/token", wanted);
  // Only the token goes to stdout, for `$(parley rooms token …)`.
  const [first] = input.operands;
  const isForOneRoom = first !== undefined && !input.isOn("global");
  return {
    value: minted,
    text: `${minted.token}\n`,
    notes: [isForOneRoom ? `It is valid for ${first}.` : "It is valid for every room.", ...api.ignoredNotes()],
  };
}

export async function check(input: Input): Promise<CommandResult> {
  const api = openApplicationApi(input);
  const request = { token: await tokenOf(input), roomName: input.text("room") };
  try {
    const response = await api.post<{ data: Record<string, Cell> }>("/token/validate", request);
    const claims = Object.entries(response.data).map(([name, value]): [string, Cell] => [name, String(value)]);
    return { value: { valid: true, ...response }, text: fields({ token: "good", ...Object.fromEntries(claims) }) };
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "invalid_access_token") throw error;
    const { message } = error;
    return { value: { valid: false, message }, text: fields({ token: "refused", reason: message }), refused: true };
  }
}
