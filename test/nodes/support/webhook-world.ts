/**
 * Clients and people in rooms on several nodes, and an endpoint of webhooks that asks for all of their events. When things are quiet, what the events add up to is
 * what is so: by what clients know of themselves, and for meetings also by what the API says.
 */
import { expect } from "bun:test";
import { ROOMS_ENV, Room } from "../../conformance/raw/support/rooms.ts";
import { tokenQuery } from "../../conformance/raw/support/world.ts";
import type { SecretKey } from "../../support/admin.ts";
import { Application } from "../../support/application.ts";
import { call } from "../../support/http.ts";
import { selfSigned } from "../../support/jwt.ts";
import type { Server } from "../../support/parley.ts";
import { bitsFrom } from "../../support/random.ts";
import { IS_FULL } from "../../support/slack.ts";
import { found, until } from "../../support/wait.ts";
import { WebhookReceiver } from "../../support/webhooks/receiver.ts";
import { Reported, type Sums, sumsOf } from "../../support/webhooks/reported.ts";
import { attempt } from "../../support/wire/connect.ts";
import { Wire } from "../../support/wire/wire.ts";

const CLIENTS = IS_FULL ? 60 : 24;
const CHANNELS = ["lobby", "room/1", "room/2", "room/3"];
const ROOMS = ["r1", "r2", "r3", "r4", "r5"];
/** In all rooms together: few enough that some are empty. */
const PEOPLE = IS_FULL ? 12 : 5;
/** Nodes that are silent are given up after 10 s, by a holder of the lease that is followed after 10 s; people who do not come back after 30 s. */
const QUIET_WITHIN_MS = 120_000;

export const WEBHOOKS_ENV = {
  ...ROOMS_ENV,
  PARLEY_WEBHOOK_ALLOW: "127.0.0.0/8",
  // What is listed is read often.
  PARLEY_REST_REQUESTS_PER_SECOND: "0",
};

/** A client, and what it knows to be so. */
class Client {
  readonly channels = new Set<string>();

  constructor(
    readonly peerId: string,
    readonly node: Server,
    readonly wire: Wire,
  ) {}

  get isThere(): boolean {
    return !this.wire.isOver;
  }

  async join(channel: string): Promise<void> {
    if ((await this.request("subscribe", channel)) === "ack") this.channels.add(channel);
  }

  async leave(channel: string): Promise<void> {
    this.channels.delete(channel);
    await this.request("unsubscribe", channel);
  }

  /** undefined: its connection has ended. */
  private request(type: string, channel: string): Promise<string | undefined> {
    return this.wire.request({ type, channel }).then(
      (answer) => answer.type,
      () => undefined,
    );
  }
}

/** Someone in a room. */
interface Inside {
  readonly node: Server;
  readonly wire: Wire;
  /** The id of the meeting, and that of the stay. */
  readonly stay: string;
}

interface Made {
  readonly app: { readonly _id: string; readonly name: string; readonly secretKey: string };
  readonly key: SecretKey;
  readonly rooms: readonly { readonly name: string; readonly id: string }[];
}

export class WebhookWorld implements Disposable {
  private readonly clients: Client[] = [];
  private readonly people: Inside[] = [];
  private readonly bits: () => number;

  private constructor(
    private readonly nodes: () => readonly Server[],
    private readonly receiver: WebhookReceiver,
    private readonly made: Made,
    seed: number,
  ) {
    this.bits = bitsFrom(seed);
  }

  static async open(nodes: () => readonly Server[], seed: number): Promise<WebhookWorld> {
    const receiver = new WebhookReceiver();
    const [node] = nodes();
    if (!node) throw new Error("there is no node");
    const app = await node.admin.createApp();
    const key = await node.admin.createKey(app._id);
    const hook = await node.admin.must<{ secret: string }>("POST", `/apps/${app.name}/webhooks`, {
      url: receiver.url("/all"),
      events: ["connection.*", "channel.*", "peer.*", "meeting.*", "participant.*"],
      channelPatterns: ["**"],
    });
    receiver.expect("/all", hook.secret);
    const backend = new Application(node.url, app.name, app.secretKey);
    const rooms = [];
    for (const name of ROOMS) {
      const { _id } = await backend.must("POST", "/room", { roomName: name, privacy: "public" });
      rooms.push({ name, id: String(_id) });
    }
    return new WebhookWorld(nodes, receiver, { app, key, rooms }, seed);
  }

  [Symbol.dispose](): void {
    this.receiver[Symbol.dispose]();
    expect(this.receiver.wrong).toEqual([]);
  }

  /** The path of the endpoint's application in the control plane. */
  get root(): string {
    return `/apps/${this.made.app.name}/webhooks`;
  }

  get there(): readonly Client[] {
    return this.clients.filter(({ isThere }) => isThere);
  }

  private get inside(): readonly Inside[] {
    return this.people.filter(({ wire }) => !wire.isOver);
  }

  private below(n: number): number {
    return this.bits() % n;
  }

  private pick<T>(from: readonly T[]): T | undefined {
    return from[this.below(Math.max(1, from.length))];
  }

  async arrive(node: Server): Promise<void> {
    const peerId = `p${this.below(30)}`;
    const { keyId, secret } = this.made.key;
    const query = tokenQuery(selfSigned(keyId, secret, { sub: peerId, peerMetadata: { name: peerId } }));
    const wire = await attempt(node.url, { query }).catch(() => undefined);
    if (!(wire instanceof Wire)) return;
    const client = new Client(peerId, node, wire);
    this.clients.push(client);
    for (const channel of CHANNELS.slice(this.below(3))) await client.join(channel);
  }

  /** Enters a room. */
  async enter(node: Server, name = this.pick(ROOMS) ?? ""): Promise<void> {
    const { id = "" } = this.made.rooms.find((room) => room.name === name) ?? {};
    const room = new Room(this.backend(node), name, id);
    const person = await room.inside({ name: `n${this.below(100)}` }).catch(() => undefined);
    if (!person) return;
    const { meetingSession, participantSession } = person.join;
    this.people.push({ node, wire: person.wire, stay: `${meetingSession} ${participantSession}` });
  }

  private backend(node: Server): Application {
    const { name, secretKey } = this.made.app;
    return new Application(node.url, name, secretKey);
  }

  async fill(): Promise<void> {
    while (this.there.length < CLIENTS) await this.arrive(this.pick(this.nodes()) as Server);
    while (this.inside.length < PEOPLE) await this.enter(this.pick(this.nodes()) as Server);
  }

  /** Some come, some go, some move. `nodes`: those that answer. */
  async stir(nodes: readonly Server[]): Promise<void> {
    for (let i = 0; i < CLIENTS / 2; i++) {
      const client = this.pick(this.there.filter(({ node }) => nodes.includes(node)));
      const channel = CHANNELS[this.below(CHANNELS.length)] ?? "lobby";
      const what = this.below(5);
      if (what < 2 || !client) await this.arrive(nodes[this.below(nodes.length)] as Server);
      else if (what === 2) client.wire.close(1000);
      else if (what === 3) client.wire.drop();
      else if (client.channels.has(channel)) await client.leave(channel);
      else await client.join(channel);
    }
    for (let i = 0; i < PEOPLE; i++) await this.stirRooms(nodes);
    // Not by chance: each of these happens in samples too.
    for (const how of ["says goodbye", "is lost"] as const) {
      const person = this.pick(this.inside.filter(({ node }) => nodes.includes(node)));
      if (how === "is lost") person?.wire.drop();
      else person?.wire.close(1000);
    }
    const name = ROOMS[0] ?? "";
    await this.enter(nodes[0] as Server, name);
    await this.backend(nodes[0] as Server).call("POST", `/room/${name}/end`);
  }

  private async stirRooms(nodes: readonly Server[]): Promise<void> {
    const node = this.pick(nodes) as Server;
    const person = this.pick(this.inside.filter((one) => nodes.includes(one.node)));
    const what = this.below(9);
    if (what < 4 || !person) await this.enter(node);
    else if (what < 6) person.wire.close(1000);
    else if (what < 8) person.wire.drop();
    // Ends a meeting.
    else await this.backend(node).call("POST", `/room/${this.pick(ROOMS)}/end`);
  }

  /** By what clients know; connections by the numbers of their peers, because clients know no ids. */
  private known(): Pick<Sums, "connections" | "members" | "channels"> {
    const here = this.there;
    const { connections, members, channels } = sumsOf(
      here.map(({ peerId }) => peerId),
      here.flatMap(({ peerId, channels }) => [...channels].map((channel) => `${channel} ${peerId}`)),
    );
    return { connections, members, channels };
  }

  private async so(): Promise<Sums> {
    const { meetings, inside } = await this.listed();
    // What is listed goes on for half a minute when a connection is lost, which samples do not wait for.
    return { ...this.known(), meetings, inside: IS_FULL ? this.inside.map(({ stay }) => stay).sort() : inside };
  }

  private async listed(): Promise<Pick<Sums, "meetings" | "inside">> {
    const backend = this.backend(this.nodes()[0] as Server);
    const active = await backend.must<{ _id: string }[]>("GET", "/rooms/active/meetingsessions");
    const meetings = active.map(({ _id }) => _id).sort();
    const inside: string[] = [];
    for (const id of meetings) {
      const { participants } = await backend.must<Meeting>("GET", `/meeting/${id}`);
      for (const { _id, endTime } of participants) if (endTime === undefined) inside.push(`${id} ${_id}`);
    }
    return { meetings, inside: inside.sort() };
  }

  private said(): Sums & { readonly missing: readonly number[]; readonly wrong: readonly string[] } {
    const got = this.receiver.of("/all");
    const reported = new Reported(got);
    const peers = new Map(got.map(({ data }) => [String(data.connectionId), String(data.peerId)]));
    const connections = reported.sums.connections.map((id) => peers.get(id) ?? id).sort();
    return { ...reported.sums, connections, missing: reported.missing, wrong: reported.wrong };
  }

  async quiet(what: string): Promise<void> {
    const expected = async () => ({ ...(await this.so()), missing: [], wrong: [] });
    const isSo = async (): Promise<boolean> => {
      const before = this.said();
      const { meetings, inside, ...seen } = before;
      if (!Bun.deepEquals(seen, { ...this.known(), missing: [], wrong: [] })) return false;
      // Reading what is listed takes a while: events that come meanwhile are not judged by it.
      const wanted = await expected().catch(() => undefined);
      return Bun.deepEquals(before, wanted) && Bun.deepEquals(before, this.said());
    };
    const ms = await until(`${what}: the events add up to what is so`, isSo, QUIET_WITHIN_MS).catch(() => undefined);
    if (ms === undefined) expect(this.said()).toEqual(await expected());
    const node = this.nodes()[0] as Server;
    const { data } = await node.admin.must<{ data: { health: { dropped: number } }[] }>("GET", this.root);
    expect(data.map(({ health }) => health.dropped)).toEqual([0]);
    if (IS_FULL) console.log(`${what}: after ${Math.round(ms ?? 0)} ms, ${this.receiver.of("/all").length} requests`);
  }

  /** Resolves when a node answers from the store. */
  async reachable(node: Server): Promise<void> {
    await until("a node connects again", async () => (await node.admin.call("GET", this.root)).status === 200);
  }

  /** The node that sends. */
  leader(): Promise<Server> {
    return found("a node sends webhooks", async () => {
      for (const node of this.nodes()) if (await isLeader(node)) return node;
      return undefined;
    });
  }

  others(node: Server): Server[] {
    return this.nodes().filter((other) => other !== node);
  }
}

interface Meeting {
  readonly participants: readonly { readonly _id: string; readonly endTime?: number }[];
}

const isLeader = async ({ url, setToken }: Server): Promise<boolean> => {
  const { text } = await call(`${url}/metrics`, { bearer: setToken });
  return /^parley_webhook_leader 1$/m.test(text);
};
