/** Mistakes that the types of the package must find: each line that ends with a code of the compiler, and no other. */
import { Parley, ParleyError } from "parley-client";
import { history } from "parley-client/history";
import { OfflineQueue } from "parley-client/queue";
import { stateOf } from "parley-client/state";

interface Chat {
  readonly text: string;
}

const url = "https://parley.example.com";
const token = async (): Promise<string> => "a token";

export const none = new Parley({ url }); // TS2345
export const both = new Parley({ url, key: "pk_demo", token }); // TS2345
export const noAddress = new Parley({ key: "pk_demo" }); // TS2345
export const unknownOption = new Parley({ url, key: "pk_demo", reconnect: true }); // TS2353
export const wrongToken = new Parley({ url, token: async () => 7 }); // TS2322
export const wrongReason = new Parley({ url, token: ({ reason }) => (reason === "expired" ? null : "a token") }); // TS2367
export const wrongQueue = new Parley({ url, token, queue: [] }); // TS2739
export const wrongDebug = new Parley({ url, token, debug: "all" }); // TS2322
export const noSocket = new Parley({ url, token, WebSocket: class {} }); // TS2322

const parley = new Parley({ url, token, queue: new OfflineQueue() });
const chat = parley.channel<Chat>("chat/1");
const people = parley.channel<Chat, { readonly name: string }>("chat/1", { senderMetadata: true });

chat.publish("hello"); // TS2345
chat.publish({ text: 7 }); // TS2322
chat.publish({ text: "hello" }, { ttl: "5s" }); // TS2322
chat.on("massage", () => undefined); // TS2345
chat.on("message", ({ data }) => data.title); // TS2339
chat.once("mesage", () => undefined); // TS2345
chat.off("mesage", () => undefined); // TS2345
chat.off("message"); // TS2554
parley.once("conected", () => undefined); // TS2345
stateOf(chat).on("change", () => undefined); // TS2345
chat.on("message", ({ fromMetadata }) => fromMetadata?.name); // TS2339
people.on("message", ({ fromMetadata }) => fromMetadata?.nam); // TS2551
people.on("message", ({ fromMetadata }) => fromMetadata.name); // TS18048
chat.on("gap", ({ reason }) => reason === "lost"); // TS2367
chat.presence.on("came", () => undefined); // TS2345
chat.presence.members.push({ peerId: "bob" }); // TS2339
chat.name = "chat/2"; // TS2540
parley.channel("chat/2", { rewind: true }); // TS2322
parley.on("message", () => undefined); // TS2345
parley.send({ text: "hello" }); // TS2554
parley.status.state = "closed"; // TS2540
parley.request({ type: "ping" }); // TS2339

history(chat, { limit: "50" }); // TS2322
stateOf<{ typing: boolean }>(chat).set({ typing: "yes" }); // TS2322
new OfflineQueue({ size: 500 }); // TS2353

export function advice({ code }: ParleyError): string {
  switch (code) {
    case "queue_full":
      return "Wait.";
    case "queue_is_full": // TS2678
      return "Wait.";
    default:
      return "";
  }
}

export const made = new ParleyError("no_such_code", "It does not exist."); // TS2345
