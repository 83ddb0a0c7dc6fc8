/** The context of a scenario: it makes clients, waits for what they see, and closes them. It runs in Bun, Node and browsers. */
import type {
  Channel,
  ChannelOptions,
  Direct,
  Message,
  Parley,
  ParleyOptions,
  Subscribed,
  Welcome,
} from "../../../client/src/index.ts";

export interface Facts {
  readonly url: string;
  readonly publishableKey: string;
  /** Where the test itself answers: what only a backend or an operator may do, and faults of the network. */
  readonly backstage: string;
}

export interface Scenario {
  readonly name: string;
  readonly run: (stage: Stage) => Promise<void>;
}

export type MakeClient = (options: ParleyOptions) => Parley;
export type Json = Readonly<Record<string, unknown>>;

/** Generous, because a busy machine is no failure. */
const PATIENCE_MS = 30_000;

/** A way to the service that can be interrupted. */
export interface Line {
  readonly url: string;
  cut(): Promise<void>;
  mend(): Promise<void>;
}

interface Role {
  readonly name?: string;
  readonly claims?: Json;
  readonly url?: string;
  /** The secret key of an application of its own. */
  readonly credential?: string;
}

export class Stage {
  /** Names are unique to this stage. */
  private readonly tag = crypto.randomUUID().slice(0, 8);
  private readonly people: Person[] = [];
  private readonly watching = new Set<() => void>();

  constructor(
    readonly facts: Facts,
    private readonly make: MakeClient,
  ) {}

  id(name: string): string {
    return `${name}-${this.tag}`;
  }

  channel(name = "room"): string {
    return `client-${this.tag}/${name}`;
  }

  async ask<T>(what: string, body: Json = {}): Promise<T> {
    const response = await fetch(`${this.facts.backstage}/${what}`, { method: "POST", body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${what}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  async mint(name: string, claims: Json = {}, credential?: string): Promise<string> {
    const { token } = await this.ask<{ token: string }>("mint", {
      claims: { peerId: this.id(name), ...claims },
      credential,
    });
    return token;
  }

  async line(): Promise<Line> {
    const { id, port } = await this.ask<{ id: number; port: number }>("line");
    return {
      url: `http://127.0.0.1:${port}`,
      cut: () => this.ask("cut", { id }),
      mend: () => this.ask("mend", { id }),
    };
  }

  /** With a token, if it has a name, and otherwise with the publishable key. */
  person({ name, claims, url, credential }: Role = {}): Person {
    const minted = name === undefined ? undefined : this.mint(name, claims, credential);
    return this.enter(minted ? { token: () => minted } : { key: this.facts.publishableKey }, url);
  }

  enter(credential: Pick<ParleyOptions, "key" | "token">, url: string = this.facts.url): Person {
    const options = { url, ...credential } as ParleyOptions;
    const person = new Person(this.make(options), () => this.changed());
    this.people.push(person);
    return person;
  }

  async connected(role: Role = {}): Promise<Person> {
    const person = this.person(role);
    await this.until("it does not connect", () => person.parley.isConnected);
    return person;
  }

  /** Checks the condition after each event. `lacking` is the text of the failure. */
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

  /** Resolves when each of them knows exactly the others. */
  acquainted(views: readonly View[]): Promise<void> {
    const ids = new Set(views.map(({ person }) => person.id));
    return this.until("they do not know exactly the others", () =>
      views.every(
        ({ members, person }) =>
          members.length === ids.size - 1 && members.every((id) => ids.has(id)) && ids.has(person.id),
      ),
    );
  }

  /**
   * One more member joins, and all others have seen it. Presence of a channel comes in order, so every earlier change has arrived.
   */
  async joinLast(channel: string, views: readonly View[]): Promise<Person> {
    const last = await this.connected({ name: `last${this.people.length}` });
    await last.view(channel).channel.subscribed;
    await this.until("someone has not seen the last one join", () =>
      views.every(({ members }) => members.includes(last.id)),
    );
    return last;
  }

  close(): void {
    for (const { parley } of this.people) parley.close();
  }

  private changed(): void {
    for (const look of [...this.watching]) look();
  }
}

/** A client and what it has seen. */
export class Person {
  readonly states: string[] = [];
  readonly errors: string[] = [];
  readonly welcomes: Welcome[] = [];
  readonly directs: Direct[] = [];
  /** Joins, messages and direct messages in their order. */
  readonly log: string[] = [];

  constructor(
    readonly parley: Parley,
    private readonly changed: () => void,
  ) {
    parley.on("status", ({ state, error }) => this.note(this.states, error ? `${state} ${error.code}` : state));
    parley.on("error", ({ code }) => this.note(this.errors, code));
    parley.on("welcome", (welcome) => this.note(this.welcomes, welcome));
    parley.on("direct", (direct) => {
      this.log.push(`direct ${direct.from}`);
      this.note(this.directs, direct);
    });
  }

  get id(): string {
    return this.parley.peerId ?? "";
  }

  view(channel: string, options: ChannelOptions = {}): View {
    return new View(this, this.parley.channel(channel, options), (list, one) => this.note(list, one));
  }

  private note<T>(list: T[], one: T): void {
    list.push(one);
    this.changed();
  }
}

/** A channel and what was seen of it. */
export class View {
  readonly messages: Message[] = [];
  readonly gaps: string[] = [];
  readonly subscriptions: Subscribed[] = [];
  readonly errors: string[] = [];
  readonly joined: string[] = [];
  readonly left: string[] = [];
  /** Each list of members that was reported. */
  readonly lists: (readonly unknown[])[] = [];

  constructor(
    readonly person: Person,
    readonly channel: Channel,
    note: <T>(list: T[], one: T) => void,
  ) {
    channel.on("message", (message) => {
      person.log.push(`message ${message.from}`);
      note(this.messages, message);
    });
    channel.on("gap", ({ reason }) => note(this.gaps, reason));
    channel.on("subscribed", (subscribed) => note(this.subscriptions, subscribed));
    channel.on("error", ({ code }) => note(this.errors, code));
    channel.presence.on("joined", ({ peerId }) => {
      person.log.push(`joined ${peerId}`);
      note(this.joined, peerId);
    });
    channel.presence.on("left", ({ peerId }) => note(this.left, peerId));
    channel.presence.on("changed", (members) => note(this.lists, members));
  }

  get members(): string[] {
    return this.channel.presence.members.map(({ peerId }) => peerId);
  }

  get data(): unknown[] {
    return this.messages.map(({ data }) => data);
  }
}
