/** Where a scenario plays: it makes the clients, waits for what they see, and clears everything away. */
import type { JoinOptions, SignallingClientOptions } from "@metered-ca/realtime";
import type { Json } from "../../support/http.ts";
import { Caller, Member } from "./people.ts";
import type { Service } from "./service.ts";
import { type OpenSocket, Wire } from "./wire.ts";

/** Generous: a busy machine is no failure. */
const PATIENCE_MS = 30_000;

export interface Role extends Pick<SignallingClientOptions, "apiKey" | "tokenProvider" | "inactivityTimeoutMs"> {
  /** Absent: the runtime's own. */
  readonly open?: OpenSocket;
}

export class Scene {
  /** Names of this scene are nobody else's: a deployment may have other users, and other runs of this suite. */
  private readonly tag = crypto.randomUUID().slice(0, 8);
  private readonly people: (Caller | Member)[] = [];
  private readonly watching = new Set<() => void>();
  private looking = false;

  constructor(
    readonly service: Service,
    /** The runtime's own WebSocket. */
    readonly open: OpenSocket,
  ) {}

  id(name: string): string {
    return `${name}-${this.tag}`;
  }

  channel(name = "room"): string {
    return `sdk-${this.tag}/${name}`;
  }

  /** The same token at every connect. */
  async token(name: string, claims: Json = {}): Promise<Role & { tokenProvider: () => Promise<string> }> {
    const { token } = await this.service.mint({ peerId: this.id(name), ...claims });
    return { tokenProvider: async () => token };
  }

  caller(role: Role): Caller {
    const { open = this.open, ...credential } = role;
    return this.enter(
      new Caller({ url: this.service.socketUrl, ...credential }, new Wire(open, this.changed), this.changed),
    );
  }

  member(role: Role): Member {
    const { open = this.open, ...credential } = role;
    return this.enter(
      new Member({ url: this.service.socketUrl, ...credential }, new Wire(open, this.changed), this.changed),
    );
  }

  async connect(role: Role): Promise<Caller> {
    const caller = this.caller(role);
    await caller.client.connect();
    return caller;
  }

  async join(channel: string, role: Role, options?: JoinOptions): Promise<Member> {
    const member = this.member(role);
    await member.peer.join(channel, options);
    return member;
  }

  /** So many members, all at the same moment; everybody knows everybody when this resolves. */
  async crowd(channel: string, count: number, claims: Json = {}): Promise<Member[]> {
    const names = Array.from({ length: count }, (_, at) => `peer${at}`);
    const roles = await Promise.all(names.map((name) => this.token(name, claims)));
    const members = await Promise.all(roles.map((role) => this.join(channel, role)));
    await this.acquainted(members);
    return members;
  }

  /** Resolves when each of them knows exactly the others. */
  acquainted(members: readonly Member[]): Promise<void> {
    const ids = new Set(members.map((member) => member.id));
    const knowsAll = ({ known, peer }: Member): boolean =>
      peer.state === "joined" && known.length === ids.size - 1 && known.every((id) => ids.has(id));
    return this.until(
      () => `${members.filter((one) => !knowsAll(one)).length} of ${members.length} do not know exactly the others`,
      () => members.every(knowsAll),
    );
  }

  /**
   * One more joins, and everybody has seen it. Presence of a channel comes in order, so whatever else was on its way to
   * them before is there now: after this, "exactly once" can be asserted without a sleep.
   */
  async curtain(channel: string, members: readonly Member[]): Promise<Member> {
    const last = await this.join(channel, await this.token(`curtain${this.people.length}`));
    await this.until("somebody has not seen the last one join", () =>
      members.every((member) => member.known.includes(last.id)),
    );
    return last;
  }

  /** Looks again after events of the clients of this scene. `lacking` says what was waited for in vain. */
  until(lacking: string | (() => string), holds: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        this.watching.delete(look);
      };
      const look = (): void => {
        if (!holds()) return;
        stop();
        resolve();
      };
      const timer = setTimeout(() => {
        stop();
        reject(new Error(`after ${PATIENCE_MS / 1000} s: ${typeof lacking === "string" ? lacking : lacking()}`));
      }, PATIENCE_MS);
      this.watching.add(look);
      look();
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.people.map((one) => one.close()));
    for (const { wire } of this.people)
      for (const line of wire.lines) if (line.closeCode === undefined) line.socket.terminate();
  }

  private enter<T extends Caller | Member>(one: T): T {
    this.people.push(one);
    return one;
  }

  /** Once for all events of a turn: a look after each of thousands would stall the very clients that are watched. */
  private readonly changed = (): void => {
    if (this.looking) return;
    this.looking = true;
    setImmediate(() => {
      this.looking = false;
      for (const look of [...this.watching]) look();
    });
  };
}
