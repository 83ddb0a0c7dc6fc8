/** Pages that record: each joins, uploads what its recorder makes in parts, and completes it, or does not come back. Some are deleted by the backend. */
import { expect } from "bun:test";
import { Room } from "../../../conformance/raw/support/rooms.ts";
import { fresh } from "../../../conformance/raw/support/world.ts";
import { Application, type AppRefusal } from "../../../support/application.ts";
import type { Answer, Json } from "../../../support/http.ts";
import type { Server } from "../../../support/parley.ts";
import type { Chance } from "../../../support/random.ts";
import { Backend, type Offset } from "../../../support/recordings.ts";
import type { Points } from "./points.ts";
import { Run, type Runs } from "./runs.ts";
import type { Setting } from "./settings.ts";

/** After a call that was lost with its node. */
const TRY_EVERY_MS = 5;
/** Another request is at work: pages wait before they try again. */
const BUSY_MS = 50;

export interface World {
  readonly setting: Setting;
  readonly runs: Runs;
  readonly points: Points;
  readonly chance: Chance;
  readonly app: { readonly name: string; readonly secretKey: string; readonly id: string };
  /** How long a page waits at most before it records again. */
  readonly pauseMs: number;
  isOver: boolean;
}

interface Stay {
  readonly id: string;
  readonly token: string;
  readonly room: string;
  readonly leave: () => void;
}

interface Begun extends Json {
  readonly _id: string;
  readonly uploadUrl: string;
}

/** Long after anything that another node holds is free again. */
const PATIENCE_MS = 60_000;
const SOURCES = ["camera", "microphone", "screen"] as const;

let addresses = 0;
const fromElsewhere = (): Readonly<Record<string, string>> => ({
  "X-Forwarded-For": `10.7.${(++addresses >> 8) & 255}.${addresses & 255}`,
});

export class Page {
  private stay: Stay | undefined;

  constructor(private readonly world: World) {}

  async live(): Promise<void> {
    while (!this.world.isOver) {
      await this.record();
      if (this.world.pauseMs > 0) await Bun.sleep(this.world.chance.below(this.world.pauseMs));
    }
    this.stay?.leave();
  }

  private async record(): Promise<void> {
    const { chance, runs } = this.world;
    const run = await this.begin();
    if (!run) return;
    const fate = chance.below(10);
    const until = fate < 7 ? run.bytes.length : chance.below(run.bytes.length + 1);
    const isThere = await this.upload(run, until);
    if (!isThere || fate === 9) return this.abandon(run.stay, runs);
    if (fate === 8) return this.delete(run);
    await this.complete(run);
    const next = chance.below(6);
    if (next < 2) await this.delete(run);
    else if (next < 3) this.leave();
  }

  private abandon(stay: string, { abandoned }: Runs): void {
    this.leave();
    abandoned.add(stay);
  }

  private leave(): void {
    this.stay?.leave();
    this.stay = undefined;
  }

  /** Into a room of its own: places of lost connections are held for a while, and would fill a room. */
  private async enter(): Promise<Stay | undefined> {
    try {
      const app = this.application(await this.world.setting.node());
      const room = fresh("room");
      const { _id } = await app.must<{ _id: string }>("POST", "/room", { roomName: room, recordRoom: true });
      const { wire, id, token } = await new Room(app, room, _id).inside();
      return { id, token, room, leave: () => wire.drop() };
    } catch (error) {
      if (!isLost(error)) throw error;
      await Bun.sleep(TRY_EVERY_MS);
      return undefined;
    }
  }

  /** undefined: the service was killed meanwhile. */
  private async begin(): Promise<Run | undefined> {
    const { chance, runs } = this.world;
    this.stay ??= await this.enter();
    const { stay } = this;
    if (!stay) return undefined;
    const answer = await this.once<Begun>((app) =>
      this.own<Begun>(app, "POST", { source: chance.pick(SOURCES) }, stay),
    );
    if (answer?.status !== 200) {
      // 403: the service ended its stay, because it had no connection. 409: uploads whose begin was not answered.
      if (answer) expect([403, 409]).toContain(answer.status);
      this.leave();
      return undefined;
    }
    const frames = chance.once(12) ? 300 : 5 + chance.below(120);
    const frameBytes = chance.once(12) ? 40_000 : 100 + chance.below(6000);
    const run = new Run(answer.body._id, stay.id, chance.bits(), frames, frameBytes);
    run.uploadUrl = answer.body.uploadUrl;
    runs.add(run);
    return run;
  }

  /** As a good client does: after a lost response it asks how many bytes are held. false: it was deleted meanwhile. */
  private async upload(run: Run, until: number): Promise<boolean> {
    const { points, chance } = this.world;
    const patience = performance.now() + PATIENCE_MS;
    while (run.acked < until) {
      const end = Math.min(until, run.acked + 1 + chance.below(run.bytes.length));
      points.announce("upload");
      run.sent = Math.max(run.sent, end);
      const part = { "Content-Range": `bytes ${run.acked}-${end - 1}/*` };
      const answer = await this.once((app) => put(app, run, run.bytes.slice(run.acked, end), part));
      if (performance.now() > patience) throw new Error(`${run.id}: no byte more is taken: ${answer?.text}`);
      const code = answer?.body.error?.code;
      if (code === "recording_not_found" || code === "upload_complete") return this.wasTaken(run, answer?.text);
      if (answer?.status === 200 || answer?.status === 409) run.hold(answer.body.offset, answer.text);
      // Another request writes to it, or the bucket does not answer in time: pages try again.
      else if (answer?.status === 423 || answer?.status === 503) await Bun.sleep(BUSY_MS);
      else if (answer) throw new Error(`${run.id}: ${answer.status} ${answer.text}`);
      else await this.ask(run);
      if (this.world.isOver) return true;
    }
    return true;
  }

  private async ask(run: Run): Promise<void> {
    const answer = await this.once((app) => put(app, run, undefined, { "Content-Range": "bytes */*" }));
    if (answer?.status === 200) run.hold(answer.body.offset, answer.text);
  }

  private wasTaken(run: Run, text = ""): false {
    if (run.deleted === false) throw new Error(`${run.id} is gone, although its page has not ended it: ${text}`);
    return false;
  }

  private async complete(run: Run): Promise<void> {
    const { points, chance } = this.world;
    const { stay } = this;
    if (!stay || run.acked === 0) return this.abandon(run.stay, this.world.runs);
    const byTotal = chance.once(3);
    run.ended = "maybe";
    points.announce("completion");
    const { answer } = await this.until((app) =>
      byTotal
        ? app.call("POST", `/recording/${run.id}/complete`, { total: run.acked }, bearing(stay.token))
        : this.own(app, "DELETE", { _id: run.id }, stay),
    );
    if (answer.status !== 200) throw new Error(`completion of ${run.id}: ${answer.status} ${answer.text}`);
    run.ended = true;
    points.announce("mending");
  }

  private async delete(run: Run): Promise<void> {
    const { points } = this.world;
    run.deleted = "maybe";
    points.announce("deletion");
    const { answer, lost } = await this.until((app) => app.call("DELETE", `/recording/${run.id}`));
    // 404: an earlier attempt was successful, and its response was lost.
    if (answer.status !== 200 && !(answer.status === 404 && lost > 0))
      throw new Error(`deletion of ${run.id}: ${answer.status} ${answer.text}`);
    run.deleted = true;
  }

  private own<T = Json>(
    app: Application,
    method: "POST" | "DELETE",
    body: Json,
    { room, token }: Stay,
  ): Promise<Answer<T & AppRefusal>> {
    return app.call<T>(method, `/room/${room}/recording`, body, bearing(token));
  }

  /** One attempt; undefined: the service was killed before it answered. */
  private async once<T>(work: (app: Application) => Promise<Answer<T>>): Promise<Answer<T> | undefined> {
    try {
      return await work(this.application(await this.world.setting.node()));
    } catch (error) {
      if (!isLost(error)) throw error;
      await Bun.sleep(TRY_EVERY_MS);
      return undefined;
    }
  }

  /** Retries until there is an answer other than that it is busy. */
  private async until<T>(
    work: (app: Application) => Promise<Answer<T>>,
  ): Promise<{ readonly answer: Answer<T>; readonly lost: number }> {
    let lost = 0;
    for (const patience = performance.now() + PATIENCE_MS; ; ) {
      const answer = await this.once(work);
      if (answer && answer.status !== 423) return { answer, lost };
      if (!answer) lost++;
      if (performance.now() > patience) throw new Error(`no answer: ${answer?.text}`);
      if (answer) await Bun.sleep(BUSY_MS);
    }
  }

  private application({ url }: Server): Application {
    const { name, secretKey, id } = this.world.app;
    return new Application(url, name, secretKey, id);
  }
}

const bearing = (bearer: string): { bearer: string; headers: Readonly<Record<string, string>> } => ({
  bearer,
  headers: fromElsewhere(),
});

const put = (
  app: Application,
  { uploadUrl }: Run,
  body: Uint8Array | undefined,
  headers: Record<string, string>,
): Promise<Answer<Offset>> => new Backend(app).put(uploadUrl, body, headers);

/** The service's own end, or a truncated response: anything else is a failure. */
const isLost = (error: unknown): boolean =>
  /ECONN|closed|refused|socket|Unable to connect|connection is over|ended/i.test(String(error));
