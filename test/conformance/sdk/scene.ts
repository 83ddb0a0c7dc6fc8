/** The context of a scenario: it creates the clients, waits for what they see, and closes everything. */
import type { JoinOptions, SignallingClientOptions } from "@metered-ca/realtime";
import type { Json } from "../../support/http.ts";
import { Caller, Member } from "./clients.ts";
import type { Service } from "./service.ts";
import { type OpenSocket, Wire } from "./wire.ts";

/** Generous, because a busy machine is no failure. */
const PATIENCE_MS = 60_000;

export interface Role extends Pick<SignallingClientOptions, "apiKey" | "tokenProvider" | "inactivityTimeoutMs"> {
  /** Default: the runtime's own WebSocket. */
  readonly open?: OpenSocket;
}

export class Scene {
  /** Names are unique to this scene: a deployment may have other users, and other runs of this suite. */
  private readonly tag = crypto.randomUUID().slice(0, 8);
  private readonly clients: (Caller | Member)[] = [];
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

  /** Returns the same token at every connect. */
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

  /** That many members, joining at the same moment; resolves when each knows all others. */
  async crowd(channel: string, count: number, claims: Json = {}): Promise<Member[]> {
    const members = await this.gather(channel, count, claims);
    await this.acquainted(members);
    return members;
  }

  /** As a crowd, but they may not know each other yet; at most `atOnce` of them join at the same moment. */
  async gather(channel: string, count: number, claims: Json = {}, atOnce = count): Promise<Member[]> {
    const names = Array.from({ length: count }, (_, at) => `peer${at}`);
    const roles = await Promise.all(names.map((name) => this.token(name, claims)));
    const members: Member[] = [];
    while (members.length < count) {
      const group = roles.slice(members.length, members.length + atOnce);
      members.push(...(await Promise.all(group.map((role) => this.join(channel, role)))));
    }
    return members;
  }

  /** Resolves when each of them knows exactly the others. */
  acquainted(members: readonly Member[]): Promise<void> {
    const ids = new Set(members.map((member) => member.id));
    const knowsAll = ({ known, peer }: Member): boolean =>
      peer.state === "joined" && known.length === ids.size - 1 && known.every((id) => ids.has(id));
    return this.until(
      () => {
        const lacking = members
          .filter((one) => !knowsAll(one))
          .map(({ known, peer }) => `${peer.state} ${known.length}`);
        return `${lacking.length} of ${members.length} do not know exactly the others: ${lacking.join(", ")}`;
      },
      () => members.every(knowsAll),
    );
  }

  /**
   * One more peer joins, and every member has seen it. Presence of a channel comes in order, so every earlier change has
   * arrived by then: after this, "exactly once" can be asserted without a sleep.
   */
  async joinLast(channel: string, members: readonly Member[]): Promise<Member> {
    const last = await this.join(channel, await this.token(`last${this.clients.length}`));
    await this.until("a member has not seen the last one join", () =>
      members.every((member) => member.known.includes(last.id)),
    );
    return last;
  }

  /** Checks the condition after each event of this scene's clients. `lacking` is the text of the failure. */
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
    await Promise.all(this.clients.map((one) => one.close()));
    for (const { wire } of this.clients)
      for (const line of wire.lines) if (line.closeCode === undefined) line.socket.terminate();
  }

  private enter<T extends Caller | Member>(one: T): T {
    this.clients.push(one);
    return one;
  }

  /** One check for all events of a turn: a check after each of thousands would stall the clients under test. */
  private readonly changed = (): void => {
    if (this.looking) return;
    this.looking = true;
    setImmediate(() => {
      this.looking = false;
      for (const look of [...this.watching]) look();
    });
  };
}
