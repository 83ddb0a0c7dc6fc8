/** `parley rooms …`: rooms and access tokens, on the application's own host. */
import { applicationApi, openApplicationApi } from "./client.ts";
import type { Answer } from "./command.ts";
import { Failure, UsageError } from "./errors.ts";
import type { Given } from "./given.ts";
import { type Cell, fields, table, time } from "./output.ts";
import { tokenOf } from "./token.ts";

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

const PAGE = 100;
const TIMES = ["expireUnixSec", "notBeforeUnixSec"];

const roomPath = (given: Given): string => `/room/${given.id(0, "the name of a room")}`;

/** All of it, under the names that the API has. */
const shown = (room: Room): string =>
  fields(
    Object.fromEntries(
      Object.entries(room).map(([name, value]): [string, Cell] => [
        name,
        TIMES.includes(name) ? time(Number(value)) : String(value),
      ]),
    ),
  );

/** What flags have not is in --fields; a flag wins. What is undefined is not in the JSON. */
const wanted = (given: Given): Record<string, unknown> => ({
  ...given.object("fields"),
  ...defined({
    privacy: given.oneOf("privacy", ["public", "private"]),
    expireUnixSec: given.momentOrNone("expires"),
    notBeforeUnixSec: given.momentOrNone("not-before"),
    deleteOnExp: given.onOff("delete-on-expiry"),
    maxParticipants: given.wholeOrNone("max-participants"),
    lang: given.text("lang"),
  }),
});

const defined = (pairs: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(pairs).filter(([, value]) => value !== undefined));

export async function create(given: Given): Promise<Answer> {
  const roomName = given.word(0) || undefined;
  const room = await applicationApi(given).post<Room>("/room", { ...wanted(given), ...defined({ roomName }) });
  return { value: room, text: shown(room) };
}

export async function list(given: Given): Promise<Answer> {
  const api = applicationApi(given);
  const data: Room[] = [];
  for (let end = "", more = true; more; ) {
    const query = `limit=${PAGE}${end && `&endId=${end}`}`;
    const page = await api.get<{ data: Room[]; currEndId: string }>(`/rooms?${query}`);
    data.push(...page.data);
    end = page.currEndId;
    more = page.data.length === PAGE;
  }
  if (data.length === 0) return { value: { data }, text: "", notes: ["There are no rooms yet."] };
  const rows = data.map((room) => [
    room.roomName,
    room._id,
    room.privacy,
    time(room.notBeforeUnixSec),
    time(room.expireUnixSec),
    room.deleteOnExp ? "archived then" : undefined,
    `${room.created.slice(0, 19).replace("T", " ")}Z`,
  ]);
  const head = ["NAME", "ID", "PRIVACY", "NOT BEFORE", "EXPIRES", "ON EXPIRY", "CREATED"];
  return { value: { data }, text: table(head, rows) };
}

export async function show(given: Given): Promise<Answer> {
  const room = await applicationApi(given).get<Room>(roomPath(given));
  return { value: room, text: shown(room) };
}

export async function edit(given: Given): Promise<Answer> {
  const change = { ...wanted(given), ...defined({ roomName: given.text("rename") }) };
  if (Object.keys(change).length === 0)
    throw new UsageError('nothing to change: name a flag, or --fields; see "parley help rooms edit"');
  const room = await applicationApi(given).put<Room>(roomPath(given), change);
  return { value: room, text: shown(room) };
}

export async function remove(given: Given): Promise<Answer> {
  const answer = await applicationApi(given).delete<{ message: string }>(roomPath(given));
  return { value: answer, text: "", notes: [`${answer.message}.`] };
}

export async function token(given: Given): Promise<Answer> {
  const wish = {
    ...given.object("fields"),
    ...defined({
      roomName: given.word(0) || undefined,
      name: given.text("name"),
      email: given.text("email"),
      externalUserId: given.text("user"),
      isAdmin: given.on("admin") || undefined,
      globalToken: given.on("global") || undefined,
      expireUnixSec: given.momentOrNone("expires"),
      notBeforeUnixSec: given.momentOrNone("not-before"),
    }),
  };
  const minted = await applicationApi(given).post<{ token: string }>("/token", wish);
  // The token alone on stdout, so that `$(parley rooms token …)` is one.
  const [first] = given.words;
  const isForOne = first !== undefined && !given.on("global");
  return {
    value: minted,
    text: `${minted.token}\n`,
    notes: [isForOne ? `It is for ${first}.` : "It is for every room."],
  };
}

export async function check(given: Given): Promise<Answer> {
  const api = openApplicationApi(given);
  const question = { token: await tokenOf(given), roomName: given.text("room") };
  try {
    const answer = await api.post<{ data: Record<string, Cell> }>("/token/validate", question);
    const said = Object.entries(answer.data).map(([name, value]): [string, Cell] => [name, String(value)]);
    return { value: answer, text: fields({ token: "good", ...Object.fromEntries(said) }) };
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "invalid_access_token") throw error;
    const { message } = error;
    return { value: { valid: false, message }, text: fields({ token: "refused", reason: message }), refused: true };
  }
}
