/** Writes to a service without a pause: messages with history, applications, recordings. Remembers what was acknowledged, and when. */

import { Application } from "../../support/application.ts";
import { call, type Json } from "../../support/http.ts";
import type { Server } from "../../support/parley.ts";
import { Backend, sha256, webm } from "../../support/recordings.ts";

export interface Acked<T> {
  readonly what: T;
  /** Unix ms when it was asked for, and when the answer was there. */
  readonly fromMs: number;
  readonly toMs: number;
}

export interface SentMessage {
  readonly channel: string;
  readonly number: number;
  readonly pos: string;
}

export interface MadeRecording {
  readonly id: string;
  readonly sha256: string;
  readonly bytes: number;
}

export interface LoadedApp {
  readonly name: string;
  readonly secretKey: string;
  readonly id: string;
  /** `<sk_id>:<sk_secret>` */
  readonly key: string;
}

const CHANNELS = 5;
const RECORDING_BYTES = 200_000;
/** Where `parley verify` talks: on channels without history, and on some that have it. */
export const VERIFIED = "verified";
export const STORED = "stored";

/** An application whose channels keep everything. */
export async function newLoadedApp(server: Server, name: string): Promise<LoadedApp> {
  const { _id, secretKey } = await server.admin.createApp(name);
  const history = { messages: 10_000, seconds: 86_400 };
  const rules = ["news/*", `${STORED}/**`].map((pattern) => ({ pattern, history }));
  await server.admin.must("PATCH", `/apps/${_id}`, { channelRules: rules });
  const channelPatterns = ["news/*", `${STORED}/**`, `${VERIFIED}/**`];
  const { credential } = await server.admin.createKey(_id, { channelPatterns });
  return { name, secretKey, id: _id, key: credential };
}

export class Load {
  readonly messages: Acked<SentMessage>[] = [];
  readonly apps: Acked<string>[] = [];
  readonly recordings: Acked<MadeRecording>[] = [];
  readonly deleted: Acked<string>[] = [];
  private isOver = false;
  private readonly running: Promise<void>[];

  constructor(
    private readonly server: Server,
    private readonly app: LoadedApp,
  ) {
    const channels = Array.from({ length: CHANNELS }, (_, i) => this.publish(`news/${i}`));
    this.running = [...channels, this.makeApps(), this.record()];
  }

  /** Resolves when everything is acknowledged. Throws if anything was refused. */
  async stop(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.running);
  }

  private async publish(channel: string): Promise<void> {
    for (let number = 1; !this.isOver; number++) {
      const { key } = this.app;
      const fromMs = Date.now();
      const path = `/v1/channels/${encodeURIComponent(channel)}/publish`;
      const { status, text, body } = await call(this.server.url + path, { body: { data: { number } }, bearer: key });
      if (status === 429) {
        number--;
        await Bun.sleep(PAUSE_MS);
        continue;
      }
      if (status !== 200) throw new Error(`publish: ${status} ${text}`);
      this.messages.push({ what: { channel, number, pos: String((body as Json).pos) }, fromMs, toMs: Date.now() });
      await Bun.sleep(PAUSE_MS);
    }
  }

  private async makeApps(): Promise<void> {
    for (let number = 1; !this.isOver; number++) {
      const name = `${this.app.name}-${number}`;
      const fromMs = Date.now();
      await this.server.admin.createApp(name);
      this.apps.push({ what: name, fromMs, toMs: Date.now() });
      await Bun.sleep(5 * PAUSE_MS);
    }
  }

  /** Every third recording is deleted again. */
  private async record(): Promise<void> {
    const { name, secretKey, id } = this.app;
    const backend = new Backend(new Application(this.server.url, name, secretKey, id));
    const room = await backend.room("recorded");
    for (let number = 1; !this.isOver; number++) {
      const bytes = webm(RECORDING_BYTES + number, number);
      const fromMs = Date.now();
      const made = await backend.record({ room }, bytes);
      this.recordings.push({
        what: { id: made._id, sha256: sha256(bytes), bytes: bytes.length },
        fromMs,
        toMs: Date.now(),
      });
      if (number % 3 === 0) {
        const fromMs = Date.now();
        await backend.app.must("DELETE", `/recording/${made._id}`);
        this.deleted.push({ what: made._id, fromMs, toMs: Date.now() });
      }
      await Bun.sleep(PAUSE_MS);
    }
  }
}

const PAUSE_MS = 10;
