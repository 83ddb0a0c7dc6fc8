/**
 * HTTP by the service's own document: requests that its schemas allow, nearly allow and do not allow, over keep-alive connections
 * to a real node, on all its hosts. Every one is answered in time, as the document describes, without a 5xx and without a secret;
 * meanwhile a healthy client is served, and memory stays where it was.
 */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { type Admin, mint, type SecretKey } from "../support/admin.ts";
import { Contract, type Document } from "../support/contract.ts";
import { call } from "../support/http.ts";
import { SecretSearch } from "../support/leaks.ts";
import { type Server, startParley } from "../support/parley.ts";
import { Chance } from "../support/random.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { until, within } from "../support/wait.ts";
import { welcomed } from "../support/wire/connect.ts";
import { Ended, HttpConnection, Silent } from "./http/connection.ts";
import { Judge } from "./http/judge.ts";
import { type Draft, isSpoiling, Requests } from "./http/requests.ts";
import { type FuzzWorld, makeWorld } from "./http/world.ts";

/** The pause after a 429. */
const WORLD_EVERY_MS = 1000;

export interface HttpFigures {
  readonly frames: number;
  readonly seconds: number;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly operations: number;
  /** Operations that never succeeded: there should be few, or the requests are not valid enough. */
  readonly neverOk: readonly string[];
  readonly worlds: number;
  readonly slowestMs: number;
  readonly healthyChecks: number;
  readonly healthySlowestMs: number;
  readonly rssMib: { readonly warm: number; readonly most: number; readonly end: number };
}

export interface HttpOptions {
  /** The node has low rates: 429 is a valid response. */
  readonly rates?: boolean;
}

const WORKERS = 16;
/** Generous, for a busy machine. */
const ANSWER_MAX_MS = 20_000;
/** The node may wait for the rest of what is not HTTP; the fuzzer does not. */
const ILLEGAL_WAIT_MS = 150;
const WORLD_REQUESTS_MAX = 400;
const HEALTHY_EVERY_MS = 200;
const HEALTHY_MAX_MS = 20_000;
const RSS_GROWTH_MAX_MIB = 128;
const RSS_SETTLES_WITHIN_MS = 30_000;
const WORLD_TRIES = 60;
const NO_RATES = {
  PARLEY_REST_REQUESTS_PER_SECOND: "0",
  PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0",
  PARLEY_HTTP_REQUESTS_PER_MINUTE_PER_IP: "0",
};

/** Above what the healthy client needs; all other rates are the defaults. */
const LOW_RATES = { PARLEY_REST_REQUESTS_PER_SECOND: "10" };

export async function fuzzHttp(frames: number, seed: number, options: HttpOptions = {}): Promise<HttpFigures> {
  const master = randomBytes(32).toString("base64");
  // In memory, if there is such a folder: this is not about disks, and an fsync for each of a million writes takes hours.
  const data = tempFolder(existsSync("/dev/shm") ? "/dev/shm" : undefined);
  const server = await startParley({
    data,
    env: { ...(options.rates ? LOW_RATES : NO_RATES), PARLEY_MASTER_KEY: master, PARLEY_MIN_FREE_DISK_BYTES: "0" },
  });
  try {
    const { body: document } = await call<Document>(`${server.url}/openapi.json`);
    const bystander = await server.admin.createApp();
    const key = await server.admin.createKey(bystander._id);
    const secrets = [master, server.adminToken, bystander.secretKey, key.secret];
    const judge = new Judge(new Contract(document), secrets, options.rates === true);
    return await new Run(server, document, judge, key, { frames, seed, secrets }).go();
  } finally {
    await server.stop();
    removeFolder(data);
  }
}

interface RunOptions {
  readonly frames: number;
  readonly seed: number;
  readonly secrets: readonly string[];
}

class Run {
  private sent = 0;
  private worlds = 0;
  private slowestMs = 0;
  private healthyChecks = 0;
  private healthySlowestMs = 0;
  private warm = 0;
  private most = 0;
  private readonly started = performance.now();
  private readonly port: number;

  constructor(
    private readonly server: Server,
    private readonly document: Document,
    private readonly judge: Judge,
    private readonly healthyKey: SecretKey,
    private readonly options: RunOptions,
  ) {
    this.port = Number(new URL(server.url).port);
  }

  async go(): Promise<HttpFigures> {
    let going = true;
    const workers = Promise.all(Array.from({ length: WORKERS }, (_, at) => this.worker(at))).finally(() => {
      going = false;
    });
    await Promise.all([workers, this.healthy(() => going)]);
    const end = await this.settled();
    this.checkLog();
    return {
      frames: this.sent,
      seconds: (performance.now() - this.started) / 1000,
      byStatus: this.judge.byStatus,
      operations: this.judge.operations,
      neverOk: this.judge.neverOk,
      worlds: this.worlds,
      slowestMs: Math.round(this.slowestMs),
      healthyChecks: this.healthyChecks,
      healthySlowestMs: Math.round(this.healthySlowestMs),
      rssMib: { warm: Math.round(this.warm), most: Math.round(this.most), end: Math.round(end) },
    };
  }

  private get admin(): Admin {
    return this.server.admin;
  }

  /** Each worker has its own random sequence, connections and fixtures, so that its requests do not depend on the others. */
  private async worker(at: number): Promise<void> {
    const chance = new Chance(this.options.seed * WORKERS + at);
    const requests = new Requests(chance, this.document, this.port);
    const connections = new WorkerConnections(this.port, `127.0.1.${at + 1}`);
    let left = Math.ceil(this.options.frames / WORKERS);
    try {
      while (left > 0) {
        const world = await this.newWorld();
        for (let used = 0; left > 0 && used < WORLD_REQUESTS_MAX; used++, left--)
          if (await this.take(requests.next(world), world, connections)) break;
        await this.removeApp(world.app);
      }
    } finally {
      connections.drop();
    }
  }

  /** Returns true if the fixtures were changed. */
  private async take(draft: Draft, world: FuzzWorld, connections: WorkerConnections): Promise<boolean> {
    this.sent++;
    const connection = await connections.get(draft.isStranger);
    const started = performance.now();
    const waitMs = draft.expects === "anything" ? ILLEGAL_WAIT_MS : ANSWER_MAX_MS;
    try {
      const answer = await connection.ask(draft.bytes, waitMs, draft.method !== "HEAD");
      this.slowestMs = Math.max(this.slowestMs, performance.now() - started);
      const made = this.judge.answered(draft, answer, world.secrets);
      if (made !== undefined) await this.removeApp(made);
      return answer.status === 200 && isSpoiling(draft.step);
    } catch (error) {
      if (!(error instanceof Ended || error instanceof Silent)) throw error;
      if (draft.expects !== "anything") throw new Error(`${error.message}: ${this.judge.shown(draft)}`);
      return false;
    } finally {
      // What was not HTTP may have left half a request behind.
      if (draft.expects === "anything") connection.drop();
    }
  }

  /** With rates on, it may have to wait. */
  private async newWorld(): Promise<FuzzWorld> {
    this.worlds++;
    for (let tries = 1; ; tries++)
      try {
        return await makeWorld(this.admin);
      } catch (error) {
        if (tries === WORLD_TRIES || !/: 429 /.test(String(error))) throw error;
        await Bun.sleep(WORLD_EVERY_MS);
      }
  }

  private async removeApp(name: string): Promise<void> {
    const { status, text } = await this.admin.call("DELETE", `/apps/${name}`);
    if (![200, 404, 429].includes(status)) throw new Error(`DELETE ${name}: ${status} ${text}`);
  }

  /** A backend that mints a token, and a peer that connects with it and gets its own message's ack. */
  private async healthy(going: () => boolean): Promise<void> {
    while (going()) {
      const started = performance.now();
      const { status, text, body } = await within(
        "a mint",
        mint(this.server.url, this.healthyKey.credential),
        HEALTHY_MAX_MS,
      );
      if (status !== 200) throw new Error(`a healthy mint was answered ${status} ${text}`);
      if (this.healthyChecks % 10 === 0)
        await within("a round trip", roundTrip(this.server.url, body.token), HEALTHY_MAX_MS);
      this.healthySlowestMs = Math.max(this.healthySlowestMs, performance.now() - started);
      this.healthyChecks++;
      const mib = this.rssMib;
      if (this.sent < this.options.frames / 4 || this.warm === 0) this.warm = Math.max(this.warm, mib);
      else this.most = Math.max(this.most, mib);
      await Bun.sleep(HEALTHY_EVERY_MS);
    }
  }

  private get rssMib(): number {
    return Number(readFileSync(`/proc/${this.server.pid}/statm`, "utf8").split(" ")[1]) / 256;
  }

  private async settled(): Promise<number> {
    const what = `memory went from ${this.warm} to ${this.rssMib} MiB`;
    await until(what, () => this.rssMib <= this.warm + RSS_GROWTH_MAX_MIB, RSS_SETTLES_WITHIN_MS);
    return this.rssMib;
  }

  private checkLog(): void {
    const complaints = this.server.log.filter(({ level }) => level === "error" || level === "fatal");
    if (complaints.length > 0) throw new Error(`the node complained: ${JSON.stringify(complaints[0])}`);
    const search = new SecretSearch();
    for (const [at, secret] of this.options.secrets.entries()) search.add(`secret ${at}`, secret);
    const leaks = search.in(this.server.output);
    if (leaks.length > 0) throw new Error(`the log has ${leaks.join(", ")}`);
  }
}

/** Connections of one worker: one for requests with the right admin token, one for all others, because wrong attempts are limited by address. */
class WorkerConnections {
  private readonly connections = new Map<boolean, HttpConnection>();

  constructor(
    private readonly port: number,
    private readonly strangerAddress: string,
  ) {}

  async get(isStranger: boolean): Promise<HttpConnection> {
    const known = this.connections.get(isStranger);
    if (known && !known.isOver) return known;
    known?.drop();
    const connection = await HttpConnection.open(this.port, isStranger ? this.strangerAddress : "127.0.0.1");
    this.connections.set(isStranger, connection);
    return connection;
  }

  drop(): void {
    for (const connection of this.connections.values()) connection.drop();
  }
}

async function roundTrip(url: string, token: string): Promise<void> {
  using wire = await welcomed(url, `token=${token}`);
  const answer = await wire.request({ type: "publish", channel: "healthy/1", data: 1 });
  if (answer.type !== "ack") throw new Error(`a healthy publish was refused: ${JSON.stringify(answer)}`);
}
