/** The fixtures of one worker: an application with keys, a room, recordings. They are created again after a request has changed them. */
import { type Admin, ALL_ACTIONS, mintToken } from "../../support/admin.ts";
import { Application } from "../../support/application.ts";
import { Backend, webm } from "../../support/recordings.ts";
import type { Hints } from "./values.ts";

export interface FuzzWorld {
  readonly app: string;
  /** Existing values, by name of a path parameter. */
  readonly names: Readonly<Record<string, readonly string[]>>;
  /** By security scheme of the document. */
  readonly credentials: Readonly<Record<string, readonly string[]>>;
  /** Invalid credentials. */
  readonly wrong: readonly string[];
  readonly hints: Hints;
  /** Addresses that carry a signature, by operation. */
  readonly links: Readonly<Record<string, readonly string[]>>;
  /** Secrets that only their owner may see, and only in operations that return them. */
  readonly secrets: readonly string[];
}

const RECORDING_BYTES = 300;
/** No name of this kind leads anywhere. */
const HOOKS = ["https://webhook.invalid/", "https://127.0.0.1/", "https://webhook.invalid:8443/"];

export async function makeWorld(admin: Admin): Promise<FuzzWorld> {
  const { name, secretKey, _id } = await admin.createApp();
  const key = await admin.createKey(name);
  const narrow = await admin.createKey(name, { channelPatterns: ["chat/*"], actions: ["publish"] });
  const browser = await admin.createPublishable(name);
  const application = new Application(admin.url, name, secretKey, _id);
  const backend = new Backend(application);
  const roomName = `room-${crypto.randomUUID().slice(0, 8)}`;
  const room = await backend.room(roomName);
  const { token: access } = await application.must<{ token: string }>("POST", "/token", { roomName });
  const recording = await backend.record({ room }, webm(RECORDING_BYTES));
  const upload = await backend.begin({ room });
  const here = (url: string): string => url.slice(url.indexOf("/", "https://".length));
  // Nothing is sent to it, whatever happens.
  const hook = { url: HOOKS[0], events: ["quota.reached"], disabled: true };
  const { _id: webhook, secret } = await application.must<{ _id: string; secret: string }>("POST", "/webhooks", hook);
  const connect = await mintToken(admin.url, key.credential);
  const future = Math.floor(Date.now() / 1000) + 3600;
  return {
    app: name,
    names: {
      app: [name, _id],
      keyId: [key.keyId, narrow.keyId, browser.keyId],
      channel: ["chat/1", "chat/2", "a"],
      peerId: ["alice", "healthy"],
      roomName: [roomName],
      id: [recording._id, upload._id, webhook],
      delivery: ["1"],
    },
    credentials: {
      secretKey: [key.credential, key.credential, key.credential, narrow.credential],
      admin: [admin.token],
      applicationBearer: [secretKey],
      applicationKey: [secretKey],
    },
    wrong: [
      "",
      "x",
      narrow.credential,
      browser.keyId,
      key.keyId,
      `${key.keyId}:`,
      `${key.keyId}:sk_secret_${"x".repeat(48)}`,
      "x".repeat(48),
      connect,
      access,
    ],
    hints: {
      app: [name, _id],
      roomName: [roomName, `new-${crypto.randomUUID().slice(0, 8)}`, 12345, `r${Math.random()}`.replace(".", "")],
      room: [roomName, room],
      token: [connect, access],
      channels: [[], ["chat/1"], ["chat/*"], ["a/*", "b/**"], ["_internal/x"]],
      channelPatterns: [[], ["**"], ["a/*", "b/**"]],
      permissions: [ALL_ACTIONS, [], ["publish"]],
      actions: [ALL_ACTIONS, ["publish"]],
      allowedOrigins: [[], ["*"], ["https://example.com"]],
      type: ["publishable", "secret", "video", "audio"],
      lang: ["en", "pt-BR"],
      expireUnixSec: [0, null, future],
      notBeforeUnixSec: [0, null, 1],
      endId: [recording._id, room],
      currEndId: [recording._id],
      expiresInSec: [1, 60, 3600],
      graceSec: [0, 1, 60],
      blockSec: [0, 1],
      limit: [1, 10, 100],
      order: ["asc", "desc"],
      url: HOOKS,
      events: [["quota.reached"], ["meeting.*", "recording.ready"], ["nothing.like.it"]],
      headers: [{}, { "X-Tenant": "acme" }, { Host: "example.com" }],
      meetingJoinWebhook: ["https://webhook.invalid/", null],
      meetingLeftWebhook: ["https://webhook.invalid/", null],
      meetingStartedWebhook: ["https://webhook.invalid/", null],
      meetingEndedWebhook: ["https://webhook.invalid/", null],
    },
    links: {
      "PUT /api/v1/upload/{id}": [here(upload.uploadUrl)],
      "GET /api/v1/file/{id}/view": [here(await backend.link(recording._id))],
      "GET /api/v1/file/{id}/download": [here(await backend.link(recording._id, "download"))],
    },
    secrets: [secretKey, key.secret, narrow.secret, secret],
  };
}
