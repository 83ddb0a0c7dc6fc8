/** What ends the readers and writers of a stream, and what they are answered from then on: on each of several nodes or workers. */
import { expect } from "bun:test";
import type { Admin, App, SecretKey } from "../admin.ts";
import { call } from "../http.ts";
import { selfSigned } from "../jwt.ts";
import { SLACK_MS } from "../slack.ts";
import { until, within } from "../wait.ts";
import { StreamsHttp } from "./http.ts";

const CHANNEL = "runs/1";
/** No one writes to it: a long poll waits for 20 seconds. */
const QUIET = "runs/quiet";
const PEER = "peer";
const JSON_TYPE = { "Content-Type": "application/json" };
const RULES = [{ pattern: "runs/**", stream: { seconds: 600, bytes: 1024 * 1024 } }];
/** A second, and what a request takes. */
const A_SECOND_MS = 2000 + SLACK_MS;
/** How many of each kind each address has: with several workers, each of them has some. */
const READERS = 4;
const WRITE_EVERY_MS = 20;

/** The service under test. */
export interface Place {
  readonly admin: Admin;
  readonly urls: readonly string[];
}

/** A new application with a stream. `key` admits only readers and writers; `other` is for the test. */
interface Scene {
  readonly place: Place;
  readonly app: App;
  readonly key: SecretKey;
  readonly other: SecretKey;
}

interface Ending {
  readonly end: (scene: Scene) => Promise<unknown>;
  /** The credential of readers and writers. Default: the key. */
  readonly by?: "token";
  /** How its stream is created. */
  readonly rules?: readonly object[];
  readonly headers?: () => Readonly<Record<string, string>>;
  /** What readers and writers are answered then. */
  readonly refusal: string;
  /** What writers are answered, if it is something else. */
  readonly writes?: string;
  /** By how much it takes longer than a second. */
  readonly laterMs?: number;
}

const EXPIRES_MS = 2000;
const waits = (): Promise<void> => Promise.resolve();
const change = (fields: (scene: Scene) => [path: string, body: unknown]) => (scene: Scene) =>
  scene.place.admin.must("PATCH", ...fields(scene));

export const ENDINGS: Readonly<Record<string, Ending>> = {
  "its key is revoked": { end: ({ place, key }) => place.admin.revoke(key.keyId), refusal: "401 unauthorized" },
  "the key of its token is revoked": {
    by: "token",
    end: ({ place, key }) => place.admin.revoke(key.keyId),
    refusal: "401 invalid_token",
  },
  "its secret is rotated": { end: ({ place, key }) => place.admin.rotate(key.keyId), refusal: "401 unauthorized" },
  "the secret that has signed its token is retired": {
    by: "token",
    end: ({ place, key }) => place.admin.rotate(key.keyId, { graceSec: 0 }),
    refusal: "401 token_expired",
  },
  "its peer is blocked": {
    by: "token",
    end: async ({ place, other }) => {
      const url = `${place.urls[0]}/v1/peers/${PEER}?blockSec=60`;
      expect((await call(url, { method: "DELETE", bearer: other.credential })).status).toBe(200);
    },
    refusal: "401 unauthorized",
  },
  "its key loses the channel": {
    end: ({ place, key }) => place.admin.patchKey(key.keyId, { channelPatterns: ["elsewhere/**"] }),
    refusal: "403 channel_not_authorized",
  },
  "its application is deleted": {
    end: ({ place, app }) => place.admin.call("DELETE", `/apps/${app._id}`),
    refusal: "401 unauthorized",
  },
  "its rule is removed": {
    end: change(({ app }) => [`/apps/${app._id}`, { channelRules: [] }]),
    refusal: "404 stream_not_found",
  },
  "its channel gets history instead": {
    end: change(({ app }) => [
      `/apps/${app._id}`,
      { channelRules: [{ pattern: "runs/**", history: { messages: 9, seconds: 60 } }] },
    ]),
    refusal: "410 offset_gone",
    // A producer that the channel does not know begins with 0.
    writes: "409 producer_gap",
  },
  "it is deleted": {
    end: async ({ place, other }) => {
      const http = new StreamsHttp(() => place.urls, other.credential);
      for (const channel of [CHANNEL, QUIET]) expect((await http.ask(channel, { method: "DELETE" })).status).toBe(204);
    },
    refusal: "404 stream_not_found",
  },
};

/** Only readers who are there already may use these: each request would begin their time anew. */
export const EXPIRIES: Readonly<Record<string, Ending>> = {
  "its time to live is over": {
    end: waits,
    headers: () => ({ "Stream-TTL": String(EXPIRES_MS / 1000) }),
    refusal: "404 stream_not_found",
    laterMs: EXPIRES_MS,
  },
  "its time has come": {
    end: waits,
    headers: () => ({ "Stream-Expires-At": new Date(Date.now() + EXPIRES_MS).toISOString() }),
    refusal: "404 stream_not_found",
    laterMs: EXPIRES_MS,
  },
  "it is unused for as long as its rule says": {
    end: waits,
    rules: [{ pattern: "runs/**", stream: { seconds: EXPIRES_MS / 1000, bytes: 1024 * 1024 } }],
    refusal: "404 stream_not_found",
    laterMs: EXPIRES_MS,
  },
};

async function sceneIn(place: Place, { rules = RULES, headers }: Ending): Promise<Scene & { readonly from: string }> {
  const { admin, urls } = place;
  const app = await admin.createApp();
  await admin.must("PATCH", `/apps/${app._id}`, { channelRules: rules });
  const [key, other] = [await admin.createKey(app._id), await admin.createKey(app._id)];
  const http = new StreamsHttp(() => urls, other.credential);
  let from = "";
  for (const channel of [CHANNEL, QUIET]) {
    await until("the stream is there", async () => {
      const { status, next } = await http.ask(channel, { method: "PUT", headers: { ...JSON_TYPE, ...headers?.() } });
      from = next;
      return status === 201;
    });
    for (const url of urls)
      await until("each node has it", async () => (await http.ask(channel, { url, method: "HEAD" })).status === 200);
  }
  return { place, app, key, other, from };
}

const refusalOf = (status: number, bytes: Uint8Array): string =>
  status < 400 ? String(status) : `${status} ${JSON.parse(Buffer.from(bytes).toString()).error}`;

/** Writes again and again, as a producer. */
class Writer {
  readonly answers: string[] = [];
  private isOver = false;
  private readonly running: Promise<void>;

  constructor(http: StreamsHttp, url: string, id: string) {
    this.running = this.run(http, url, id);
  }

  stop(): Promise<void> {
    this.isOver = true;
    return this.running;
  }

  private async run(http: StreamsHttp, url: string, id: string): Promise<void> {
    for (let seq = 0; !this.isOver; seq++) {
      const headers = { ...JSON_TYPE, "Producer-Id": id, "Producer-Epoch": "0", "Producer-Seq": String(seq) };
      const body = Buffer.from(JSON.stringify(`${id} ${seq}`));
      const { status, bytes } = await http.ask(CHANNEL, { method: "POST", url, headers, body });
      this.answers.push(refusalOf(status, bytes));
      await Bun.sleep(WRITE_EVERY_MS);
    }
  }
}

/** Readers of each kind on each address end in time, and are answered what they must be; so are writers, and from then on nothing else. */
export async function endsFor(place: Place, ending: Ending): Promise<void> {
  const scene = await sceneIn(place, ending);
  const { key, from } = scene;
  const credential = ending.by === "token" ? selfSigned(key.keyId, key.secret, { sub: PEER }) : key.credential;
  const http = new StreamsHttp(() => place.urls, credential);
  const events: Promise<string>[] = [];
  const polls: Promise<string>[] = [];
  for (const url of place.urls)
    for (let nr = 0; nr < READERS; nr++) {
      const response = await http.open(CHANNEL, { url, query: { offset: "-1", live: "sse" } });
      expect(response.status).toBe(200);
      events.push(response.text());
      polls.push(poll(http, url, from));
    }
  // They would begin its time anew.
  const writers = ending.laterMs === undefined ? place.urls.map((url, nr) => new Writer(http, url, `p${nr}`)) : [];
  try {
    await judge(scene, ending, http, { events, polls, writers, from });
  } finally {
    await Promise.all(writers.map((writer) => writer.stop()));
  }
}

interface Ended {
  readonly events: readonly Promise<string>[];
  readonly polls: readonly Promise<string>[];
  readonly writers: readonly Writer[];
  readonly from: string;
}

async function judge(
  scene: Scene,
  ending: Ending,
  http: StreamsHttp,
  { events, polls, writers, from }: Ended,
): Promise<void> {
  await until("writers write", () => writers.every(({ answers }) => answers.length > 2));
  const fromMs = performance.now();
  await ending.end(scene);
  await within("event streams end", Promise.all(events));
  const answered = await Promise.all(polls);
  const refused = ending.writes ?? ending.refusal;
  await until("writers are refused", () => writers.every(({ answers }) => answers.at(-1) === refused));
  const tookMs = performance.now() - fromMs - (ending.laterMs ?? 0);
  expect(tookMs).toBeLessThan(A_SECOND_MS);
  expect(answered).toEqual(polls.map(() => ending.refusal));
  for (const url of scene.place.urls)
    for (const live of [{}, { live: "sse" }, { live: "long-poll" }]) {
      let answer = "";
      // A worker without readers may hear of it last.
      await until(
        "it is refused",
        async () => {
          const { status, bytes } = await http.ask(QUIET, { url, query: { offset: from, ...live } });
          answer = refusalOf(status, bytes);
          return answer === ending.refusal;
        },
        A_SECOND_MS,
      ).catch(() => expect([live, answer]).toEqual([live, ending.refusal]));
    }
  for (const { answers } of writers) {
    const [first, ...later] = inOrder(answers);
    expect([first, later.at(-1)]).toEqual(["200", refused]);
    // A rule that changes may be one that keeps nothing, for a moment.
    expect(later.filter((one) => !one.startsWith("4"))).toEqual([]);
  }
}

async function poll(http: StreamsHttp, url: string, offset: string): Promise<string> {
  const { status, bytes } = await http.ask(QUIET, { url, query: { offset, live: "long-poll" } });
  return refusalOf(status, bytes);
}

/** Without those that are as the one before. */
const inOrder = (answers: readonly string[]): string[] => answers.filter((one, at) => one !== answers[at - 1]);
