/** Code of an application that must compile against the package, for each kind of project (test/client/types.test.ts). */
import {
  type Channel,
  type ChannelEvents,
  type Direct,
  type ErrorCode,
  type Gap,
  type Message,
  Parley,
  ParleyError,
  type Status,
} from "parley-client";
import { type HistoryPage, history, messagesOf } from "parley-client/history";
import { HttpSocket } from "parley-client/http";
import { Parley as NodeParley } from "parley-client/node";
import { OfflineQueue } from "parley-client/queue";
import { stateOf } from "parley-client/state";

interface Chat {
  readonly text: string;
}

interface Person {
  readonly name: string;
}

export const withKey: Parley = new Parley({ url: "https://parley.example.com", key: "pk_demo" });

export const parley = new Parley({
  url: "https://parley.example.com",
  token: async ({ reason }) => (reason === "renew" ? "a token" : null),
  queue: new OfflineQueue({ messages: 500, ttl: 60_000 }),
  autoConnect: false,
});

export const inNode: Parley = new NodeParley({ url: "wss://parley.example.com", token: () => "a token" });

export const overHttp: Parley = new Parley({ url: "https://parley.example.com", key: "pk_demo", transport: "http" });
overHttp.on("status", ({ transport = "websocket" }) => show(transport));

const socket = new HttpSocket("wss://parley.example.com/v1?key=pk_demo");
socket.onmessage = ({ data }) => show(data);
socket.onclose = ({ code, reason, wasClean }) => show(String(code), reason, String(wasClean));
socket.addEventListener("open", () => socket.send("{}"));
export const isOpen: boolean = socket.readyState === HttpSocket.OPEN;
export const asWebSocket: Parley = new Parley({ url: "https://parley.example.com", key: "pk", WebSocket: HttpSocket });

const chat: Channel<Chat, Person> = parley.channel<Chat, Person>("chat/1", { rewind: "5m", senderMetadata: true });

export const removers: readonly (() => void)[] = [
  chat.on("message", ({ data, from, pos = "" }) => show(data.text, from, pos)),
  chat.on("gap", (gap: Gap) => show(gap.reason === "no_history" ? "no history" : "too much was missed")),
  chat.on("subscribed", ({ recovered, replay }) => show(recovered === true ? "all" : "some", String(replay))),
  chat.on("occupancy", ({ peers, connections }) => show(String(peers + connections))),
  chat.on("message", ({ fromMetadata }) => show(fromMetadata?.name ?? "")),
  chat.once("message", ({ data }) => show(data.text)),
  chat.presence.once("left", ({ metadata }) => show(metadata?.name ?? "")),
  parley.once("welcome", ({ peerId }) => show(peerId)),
  chat.presence.on("joined", ({ peerId, metadata }) => show(peerId, metadata?.name ?? "")),
  chat.presence.on("changed", (members) => show(...members.map(({ peerId }) => peerId))),
  parley.on("direct", ({ from, data }) => show(from, JSON.stringify(data))),
  parley.on("status", ({ state, error }: Status) => show(state, error?.message ?? "")),
  parley.on("welcome", ({ peerId }) => show(peerId)),
  parley.on("error", (error: ParleyError) => show(error.message)),
];

const hear = ({ data, fromMetadata }: Message<Chat, Person>): void => show(data.text, fromMetadata?.name ?? "");
chat.on("message", hear);
chat.off("message", hear);
chat.presence.off("changed", (members) => show(String(members.length)));

// Types of before `fromMetadata` had one: a channel, a message and a page without the second parameter.
export const plain: Channel<Chat> = parley.channel<Chat>("chat/1");
export const narrowed: readonly [Channel<Chat>, Channel] = [chat, chat];
const hearPlain = ({ data, fromMetadata }: Message<Chat>): void => show(data.text, JSON.stringify(fromMetadata));
chat.on("message", hearPlain);
chat.off("message", hearPlain);
plain.on("message", ({ fromMetadata }) => show((fromMetadata as Person | undefined)?.name ?? ""));
export const ofAll: ChannelEvents<Chat>["message"][] = [];
export const direct: Direct<Chat> = { from: "bob", data: { text: "hello" }, fromMetadata: 7 };
export const known: Direct<Chat, Person> = { from: "bob", data: { text: "hello" }, fromMetadata: { name: "Bob" } };

export const quiet = new Parley({ url: "https://parley.example.com", key: "pk_demo", debug: true });
export const logged = new Parley({ url: "https://parley.example.com", key: "pk_demo", debug: (line) => show(line) });

export async function talk(): Promise<string | undefined> {
  const { id, pos, duplicate } = await chat.publish({ text: "hello" }, { id: "1", ttl: 5000 });
  await parley.send("bob", { text: "between us" });
  await chat.subscribe();
  chat.unsubscribe();
  for await (const message of chat) return message.fromMetadata?.name ?? message.data.text;
  return duplicate === true ? id : pos;
}

export async function earlier(): Promise<readonly Message<Chat>[]> {
  let page: HistoryPage<Chat> = await history(chat, { limit: 50 });
  if (page.more) page = await page.next();
  for await (const { data, fromMetadata } of messagesOf(chat)) show(data.text, fromMetadata?.name ?? "");
  const known: HistoryPage<Chat, Person> = await history(chat);
  show(...known.messages.map(({ fromMetadata }) => fromMetadata?.name ?? ""));
  return page.messages;
}

const typing = stateOf<{ typing: boolean }>(chat);

export async function type(): Promise<boolean> {
  await typing.set({ typing: true });
  await typing.set(null);
  typing.on("changed", ({ peerId, state, lost }) => show(peerId, String(state?.typing), String(lost ?? false)));
  return typing.get("bob")?.typing ?? false;
}

export function advice(error: unknown): string {
  if (!(error instanceof ParleyError)) return "Something else has failed.";
  const code: ErrorCode = error.code;
  switch (code) {
    case "channel_not_authorized":
      return "Ask for access.";
    case "queue_full":
    case "not_connected":
      return "Wait for the connection.";
    default:
      return error.message;
  }
}

export const unknownData = (message: Message): string =>
  typeof message.data === "string" ? message.data : JSON.stringify(message.data);

function show(...texts: readonly string[]): void {
  parley.channel<string>("log").publish(texts.join(" "));
}
