/** A server, an application with a key that may do everything, and helpers to connect to it. */
import { afterAll, afterEach } from "bun:test";
import { type Admin, ALL_ACTIONS, type App, type SecretKey } from "../../../support/admin.ts";
import { type Answer, type Call, call, type Json, type Refusal } from "../../../support/http.ts";
import { selfSigned } from "../../../support/jwt.ts";
import { type Options, type Server, startParley } from "../../../support/parley.ts";
import { closeAtEndOfRun, IS_SHARING } from "../../../support/run.ts";
import { type ConnectOptions, connect } from "../../../support/wire/connect.ts";
import type { Frame } from "../../../support/wire/shapes.ts";
import type { Wire } from "../../../support/wire/wire.ts";

let names = 0;
/** A name that no other test uses. */
export const fresh = (stem: string): string => `${stem}-${++names}-${crypto.randomUUID().slice(0, 6)}`;

export const tokenQuery = (token: string): string => `token=${encodeURIComponent(token)}`;

/** Every action but presence. */
export const QUIET = { permissions: ["publish", "subscribe", "send"] };

/** Claims for a signed token; `sub` defaults to a fresh name. */
export type Claims = Json & { readonly sub?: string };

/** A connection that has received its welcome. */
export interface Guest {
  readonly wire: Wire;
  readonly peerId: string;
  readonly welcome: Frame<"welcome">;
}

export class World {
  private readonly open: Wire[] = [];

  constructor(
    readonly server: Server,
    readonly app: App,
    readonly key: SecretKey,
  ) {}

  get url(): string {
    return this.server.url;
  }

  get admin(): Admin {
    return this.server.admin;
  }

  token(claims: Claims = {}, key: Pick<SecretKey, "keyId" | "secret"> = this.key): string {
    return selfSigned(key.keyId, key.secret, { sub: fresh("peer"), ...claims });
  }

  /** Connects with a token and reads the welcome. */
  async guest(claims: Claims = {}, options: ConnectOptions = {}, key?: SecretKey): Promise<Guest> {
    return this.welcomed({ query: tokenQuery(this.token(claims, key)), ...options });
  }

  /** Connects with a publishable key and reads the welcome. */
  async visitor(keyId: string, options: ConnectOptions = {}): Promise<Guest> {
    return this.welcomed({ query: `key=${keyId}`, ...options });
  }

  async welcomed(options: ConnectOptions): Promise<Guest> {
    const wire = await connect(this.url, options);
    this.open.push(wire);
    const welcome = await wire.frame("welcome");
    return { wire, peerId: welcome.peerId, welcome };
  }

  /** Connects, subscribes and reads the roster. */
  async member(channel: string, claims: Claims = {}, key?: SecretKey): Promise<Guest & { roster: Frame<"presence"> }> {
    const guest = await this.guest(claims, {}, key);
    return { ...guest, roster: await join(guest.wire, channel) };
  }

  /** A peer that does not answer pings: its roster waits for `wire.pong` or the timeout. */
  silent(claims: Claims = {}): Promise<Guest> {
    return this.guest(claims, { answersPings: false });
  }

  /** Two members that know each other: a watcher, and one that the test is about to change or end. */
  async pair(
    claims: Claims = {},
    key?: SecretKey,
    channel = fresh("room"),
  ): Promise<{ channel: string; watcher: Guest; guest: Guest }> {
    const watcher = await this.member(channel);
    const guest = await this.member(channel, claims, key);
    await watcher.wire.until("presence");
    return { channel, watcher, guest };
  }

  /** Waits for several ticks: another peer joins channels, and each join takes at least one tick. */
  async ticksPass(count = 3): Promise<void> {
    const { wire } = await this.guest();
    for (let i = 0; i < count; i++) await join(wire, fresh("elsewhere"));
  }

  /** A peer that neither sees presence nor appears in it, so that nothing arrives that it did not request. */
  quiet(claims: Claims = {}): Promise<Guest> {
    return this.guest({ ...QUIET, ...claims });
  }

  /** A quiet peer with one subscription. */
  async subscriber(channel: string, claims: Claims = {}, fields: object = {}): Promise<Guest> {
    const guest = await this.quiet(claims);
    await subscribe(guest.wire, channel, fields);
    return guest;
  }

  rest<T = Json>(
    method: string,
    path: string,
    rest: Call & { readonly credential?: string } = {},
  ): Promise<Answer<T & Refusal>> {
    const { credential = this.key.credential, ...options } = rest;
    return call<T & Refusal>(this.url + path, { method, bearer: credential, ...options });
  }

  /** A publish over REST. */
  restPublish(channel: string, body: unknown, credential?: string): Promise<Answer> {
    return this.rest("POST", `/v1/channels/${encodeURIComponent(channel)}/publish`, {
      body,
      ...(credential && { credential }),
    });
  }

  /** A direct message over REST. */
  restSend(to: string, body: unknown, credential?: string): Promise<Answer> {
    return this.rest("POST", `/v1/peers/${encodeURIComponent(to)}/send`, { body, ...(credential && { credential }) });
  }

  /** Closes what a test left open, so that the next test starts on an idle server. */
  hangUp(): void {
    for (const wire of this.open.splice(0)) if (!wire.isOver) wire.drop();
  }

  async stop(): Promise<void> {
    this.hangUp();
    await this.server.stop();
  }
}

export async function subscribe(wire: Wire, channel: string, fields: object = {}): Promise<void> {
  const answer = await wire.request({ type: "subscribe", channel, ...fields });
  if (answer.type !== "ack") throw new Error(`${channel}: ${JSON.stringify(answer)}`);
}

/** Subscribes and returns the payload of the ping after the ack. */
export async function subscribeUntilPing(wire: Wire, channel: string, fields: object = {}): Promise<string> {
  await subscribe(wire, channel, fields);
  return wire.rosterPing();
}

/** Subscribes and reads until the roster. */
export const join = (wire: Wire, channel: string, fields: object = {}): Promise<Frame<"presence">> =>
  wire.join(channel, fields);

/** Rate limits are off unless a test is about them. */
const NO_LIMITS = { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0", PARLEY_REST_REQUESTS_PER_SECOND: "0", PARLEY_DEMO: "off" };

export async function startWorld(options: Options = {}): Promise<World> {
  const server = await startParley({ ...options, env: { ...NO_LIMITS, ...options.env } });
  return newApp(server);
}

/** A server of its own, for tests that read what concerns all of it, or stop it: idle after each test, stopped after the last. */
export async function ownWorldForTests(options: Options = {}): Promise<World> {
  const world = await startWorld(options);
  afterEach(() => world.hangUp());
  afterAll(() => world.stop());
  return world;
}

async function startShared(options: Options): Promise<Server> {
  const { server } = await startWorld(options);
  closeAtEndOfRun(() => server.stop());
  return server;
}

/** By its environment. */
const sharedServers = new Map<string, Promise<Server>>();

/** For `const world = await worldForTests()` in a test file: a new application, idle after each test. */
export async function worldForTests(options: Pick<Options, "env"> = {}): Promise<World> {
  if (!IS_SHARING) return ownWorldForTests(options);
  const environment = JSON.stringify(options.env ?? {});
  const server = sharedServers.get(environment) ?? startShared(options);
  sharedServers.set(environment, server);
  const world = await newApp(await server);
  afterEach(() => world.hangUp());
  return world;
}

/** An application on the same server whose message quota is used up from the start. */
export async function overQuotaForTests({ server }: World): Promise<World> {
  const world = await newApp(server);
  await server.admin.must("PATCH", `/apps/${world.app._id}`, { plan: { maxMessagesPerPeriod: 0 } });
  afterEach(() => world.hangUp());
  return world;
}

/** Another application on the same server. */
export async function newApp(server: Server, key: Json = {}): Promise<World> {
  const app = await server.admin.createApp();
  return new World(server, app, await server.admin.createKey(app._id, key));
}

export { ALL_ACTIONS };
