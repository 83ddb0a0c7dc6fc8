/**
 * Random requests of clients, of a backend and of an operator against several workers, one after another, with a reference that says what has to follow on all
 * workers: who gets which message, who is disconnected, who is refused, who is present.
 */
import { subscribe, tokenQuery, type World } from "../../conformance/raw/support/world.ts";
import type { Chance } from "../../support/random.ts";
import { SOON_MS, until } from "../../support/wait.ts";
import { attempt } from "../../support/wire/connect.ts";
import { Wire } from "../../support/wire/wire.ts";
import { type Connection, isAllowed, type Key, Reference } from "./reference.ts";

const PEERS = 12;
const CHANNELS = ["open/1", "open/2", "narrow/1", "narrow/2"];
const CONNECTIONS_MAX = 40;
const CAP = 8;
const BLOCK_SECONDS = 600;
const CHECK_EVERY = 50;
/** Each step, and how often it is done compared with the others. */
const STEPS = [
  ["connect", 20],
  ["leave", 5],
  ["subscribe", 25],
  ["unsubscribe", 4],
  ["publish", 20],
  ["publishOverRest", 8],
  ["send", 10],
  ["sendOverRest", 5],
  ["kick", 3],
  ["revoke", 2],
  ["narrow", 2],
  ["limit", 2],
  ["roster", 5],
] as const;

export class Chaos {
  /** How often each step was done. */
  readonly counts: Record<string, number> = {};
  private readonly reference = new Reference();
  private readonly blocked = new Set<string>();
  private keys: Key[] = [];
  private cap: number | undefined;
  private lastNumber = 0;

  constructor(
    private readonly world: World,
    private readonly chance: Chance,
  ) {}

  /** Throws what is wrong, with what was done before. */
  async run(steps: number): Promise<void> {
    try {
      await this.steps(steps);
    } catch (error) {
      throw this.reference.explain(error);
    }
  }

  private async steps(steps: number): Promise<void> {
    for (let i = 0; i < 3; i++) this.keys.push(await this.newKey());
    const bag = STEPS.flatMap(([step, count]) => Array<(typeof STEPS)[number][0]>(count).fill(step));
    for (let i = 0; i < steps; i++) {
      const step = this.chance.pick(bag);
      this.reference.story.push(step);
      await this[step]();
      this.counts[step] = (this.counts[step] ?? 0) + 1;
      if (i % CHECK_EVERY === 0) await this.reference.check();
    }
    await this.reference.check();
  }

  // Clients

  async connect(): Promise<void> {
    if (this.reference.connections.length >= CONNECTIONS_MAX) return this.leave();
    const key = this.chance.pick(this.keys);
    const peer = `peer-${this.chance.below(PEERS)}`;
    const isFull = this.cap !== undefined && this.reference.connections.length >= this.cap;
    const outcome = await this.attempt(peer, key);
    const expected = this.blocked.has(peer) ? 401 : isFull ? 4010 : "welcome";
    if (outcome.is !== expected) throw new Error(`${peer} got ${outcome.is} instead of ${expected}`);
    if (outcome.wire) this.reference.opened(outcome.wire, peer, key);
  }

  private async attempt(peer: string, { secret }: Key): Promise<{ is: number | "welcome"; wire?: Wire }> {
    const outcome = await attempt(this.world.url, { query: tokenQuery(this.world.token({ sub: peer }, secret)) });
    if (!(outcome instanceof Wire)) return { is: outcome.status };
    const first = await outcome.event();
    if (first.kind === "close") return { is: first.code };
    if (first.kind !== "text" || !first.text.includes('"welcome"'))
      throw new Error(`${peer} got ${JSON.stringify(first)}`);
    return { is: "welcome", wire: outcome };
  }

  async leave(): Promise<void> {
    const one = this.some();
    if (!one) return;
    one.wire.close(1000);
    await one.wire.gone();
    this.reference.end([one]);
  }

  async subscribe(): Promise<void> {
    const one = this.some();
    if (!one) return;
    const channel = this.chance.pick(CHANNELS);
    if (!isAllowed(one.key, channel)) {
      const answer = await one.wire.request({ type: "subscribe", channel });
      if (answer.type !== "error")
        throw new Error(`${one.peer} is subscribed to ${channel}, which its key does not have`);
      return;
    }
    if (!one.channels.has(channel)) this.reference.changing(one, channel);
    await subscribe(one.wire, channel);
    this.reference.subscribed(one, channel);
  }

  async unsubscribe(): Promise<void> {
    const one = this.some();
    const [channel] = one?.channels ?? [];
    if (!one || channel === undefined) return;
    this.reference.changing(one, channel);
    await one.wire.request({ type: "unsubscribe", channel });
    this.reference.unsubscribed(one, channel);
  }

  async publish(): Promise<void> {
    const one = this.some();
    if (!one) return;
    const channel = this.chance.pick(CHANNELS);
    const number = ++this.lastNumber;
    const { type } = await one.wire.request({ type: "publish", channel, data: number });
    if (type !== (isAllowed(one.key, channel) ? "ack" : "error"))
      throw new Error(`${one.peer} got ${type} for a publish to ${channel}`);
    if (type === "ack") this.reference.published(number, channel, one);
  }

  async send(): Promise<void> {
    const one = this.some();
    if (!one) return;
    const to = `peer-${this.chance.below(PEERS)}`;
    const number = ++this.lastNumber;
    const { type } = await one.wire.request({ type: "send", to, data: number });
    this.reference.sent(type === "ack", to, number, one);
  }

  // A backend

  async publishOverRest(): Promise<void> {
    const channel = this.chance.pick(CHANNELS);
    const number = ++this.lastNumber;
    await this.expectStatus(200, this.world.restPublish(channel, { data: number }));
    this.reference.published(number, channel);
  }

  async sendOverRest(): Promise<void> {
    const to = `peer-${this.chance.below(PEERS)}`;
    const number = ++this.lastNumber;
    const { status } = await this.world.restSend(to, { data: number });
    this.reference.sent(status === 200, to, number);
  }

  async kick(): Promise<void> {
    const peer = `peer-${this.chance.below(PEERS)}`;
    const isBlocked = this.chance.once(3) && this.blocked.size < PEERS / 3;
    const query = isBlocked ? `?blockSec=${BLOCK_SECONDS}` : "";
    const { status, body } = await this.world.rest<{ closed: number }>("DELETE", `/v1/peers/${peer}${query}`);
    const gone = this.reference.connections.filter((one) => one.peer === peer);
    if (isBlocked) this.blocked.add(peer);
    if (status !== 200 || body.closed !== gone.length)
      throw new Error(`a kick of ${peer} closed ${body.closed} of ${gone.length}`);
    await this.reference.areClosed(gone, 4020);
  }

  // An operator

  async revoke(): Promise<void> {
    const key = this.chance.pick(this.keys);
    await this.world.admin.must("DELETE", `/signalling/keys/${key.secret.keyId}`);
    // On whichever worker it lands, from the answer on.
    for (let i = 0; i < 3; i++) {
      const { is } = await this.attempt(`peer-${this.chance.below(PEERS)}`, key);
      if (is !== 401) throw new Error(`a revoked key got ${is}`);
    }
    await this.reference.areClosed(
      this.reference.connections.filter((one) => one.key === key),
      4001,
    );
    this.keys = this.keys.filter((one) => one !== key);
    this.keys.push(await this.newKey());
  }

  /** Subscriptions that the key no longer covers end on all workers. */
  async narrow(): Promise<void> {
    const key = this.chance.pick(this.keys);
    key.isNarrow = !key.isNarrow;
    const channelPatterns = key.isNarrow ? ["open/*"] : ["**"];
    const ending = this.reference.connections
      .filter((one) => one.key === key)
      .flatMap((one) => [...one.channels].map((channel) => ({ one, channel })))
      .filter(({ channel }) => !isAllowed(key, channel));
    for (const { one, channel } of ending) this.reference.changing(one, channel);
    await this.world.admin.must("PATCH", `/signalling/keys/${key.secret.keyId}`, { channelPatterns });
    for (const { one, channel } of ending) this.reference.unsubscribed(one, channel);
  }

  async limit(): Promise<void> {
    this.cap = this.cap === undefined ? Math.max(CAP, this.reference.connections.length - 2) : undefined;
    const plan = { maxConcurrentConnections: this.cap ?? null };
    await this.world.admin.must("PATCH", `/apps/${this.world.app._id}`, { plan });
  }

  async roster(): Promise<void> {
    const channel = this.chance.pick(CHANNELS);
    const members = (): string => this.reference.membersOf(channel).join();
    let found = "";
    await until(
      `the roster of ${channel} is not ${members()}`,
      async () => {
        const path = `/v1/channels/${encodeURIComponent(channel)}/peers`;
        const { body } = await this.world.rest<{ peers: { peerId: string }[] }>("GET", path);
        found = body.peers
          .map(({ peerId }) => peerId)
          .sort()
          .join();
        return found === members();
      },
      SOON_MS,
    ).catch((error) => {
      throw new Error(`${error} but ${found}`);
    });
  }

  private some(): Connection | undefined {
    return this.reference.connections.length === 0 ? undefined : this.chance.pick(this.reference.connections);
  }

  private async newKey(): Promise<Key> {
    return {
      secret: await this.world.admin.createKey(this.world.app._id, { channelPatterns: ["**"] }),
      isNarrow: false,
    };
  }

  private async expectStatus(expected: number, answer: Promise<{ status: number; text: string }>): Promise<void> {
    const { status, text } = await answer;
    if (status !== expected) throw new Error(`${status} ${text} instead of ${expected}`);
  }
}
