/**
 * Presence of several processes against the truth. Peers open tabs on random nodes, say something about themselves, leave channels,
 * close tabs and lose them, all peers at the same time, while processes are stopped and go on. After that everyone must know the
 * same: each tab from the frames it got, and each node in its lists.
 *
 * The calls of one peer follow each other, so that the order of its connections is known, and with it the truth: the newest of its
 * connections that subscribe decides what is shown.
 */
import { expect } from "bun:test";
import type { Admin, SecretKey } from "./admin.ts";
import { call } from "./http.ts";
import { Ended, type Shown, shownAs, Tab } from "./presence-tab.ts";
import type { Chance } from "./random.ts";
import { TIMEOUT_MS, until } from "./wait.ts";

/** Nodes with an address each, or workers that share one. */
export interface Joined {
  readonly urls: readonly string[];
  /** How many processes answer at each address. */
  readonly processesPerUrl: number;
  readonly admin: Admin;
  readonly appId: string;
  readonly key: SecretKey;
  /** The processes that may be stopped for a while. A supervisor replaces workers that are stopped for long. */
  readonly pids: () => readonly number[];
}

/** A walk has one channel in which a member that was lost stays for a second, if the application has these rules. */
export const GRACE_RULES = [{ pattern: "grace/**", graceSec: 1 }];

export interface Walk {
  readonly peers: number;
  /** Per peer, at least; with pauses in between, until all stops are over. */
  readonly steps: number;
  readonly pauseMaxMs: number;
  readonly stops: number;
  readonly stopMaxMs: number;
}

/** For `npm test`, in a service that other tests use too. Without a grace period, which would take a second. */
export const SAMPLE = {
  seed: 41,
  rounds: 6,
  walk: { peers: 6, steps: 4, pauseMaxMs: 0, stops: 1, stopMaxMs: 250 },
} as const;

const TABS_MAX = 3;
/** At one address another worker may answer each time. */
const ASKED_PER_PROCESS = 3;
/** Damping may hold back a change for ten seconds, a stop takes a node out for some more. */
const AGREED_WITHIN_MS = TIMEOUT_MS * 2;

/** What each process lists of a channel: over REST, and for operators. */
async function lists(service: Joined, channel: string): Promise<View[]> {
  const { urls, processesPerUrl, admin, appId, key } = service;
  const asked = processesPerUrl === 1 ? 1 : processesPerUrl * ASKED_PER_PROCESS;
  const name = encodeURIComponent(channel);
  const found: View[] = [];
  for (const url of urls.flatMap((url) => Array.from({ length: asked }, () => url)))
    found.push(
      await listed(`${url}/v1/channels/${name}/peers`, key.credential, "peers"),
      await listed(`${url}/api/internal/v1/apps/${appId}/channels/${name}?limit=200`, admin.token, "members"),
    );
  return found;
}

/** A node that does not know what others have answers with an error: that is no list of nothing. */
async function listed(url: string, bearer: string, field: string): Promise<View> {
  // One connection is one process.
  const { status, body } = await call(url, { bearer, headers: { Connection: "close" } });
  if (status !== 200) return new Map([["refused", `${status} ${JSON.stringify(body)}`]]);
  const entries = body[field] as readonly Listed[];
  return new Map(entries.map((one) => [one.peerId, `${shownAs(one)}${one.lost ? " lost" : ""}`]));
}

interface Listed {
  readonly peerId: string;
  readonly metadata?: unknown;
  readonly state?: unknown;
  readonly lost?: true;
}

type View = ReadonlyMap<string, Shown>;

const textOf = (view: View, without = ""): string =>
  JSON.stringify([...view].filter(([peerId]) => peerId !== without).sort(([one], [other]) => (one < other ? -1 : 1)));

class Person {
  /** Oldest first. */
  tabs: Tab[] = [];
  private opened = 0;

  constructor(
    private readonly service: Joined,
    readonly peerId: string,
    private readonly channels: readonly string[],
    private readonly chance: Chance,
  ) {}

  /** What the others must be shown of it; `undefined` if it is no member. */
  truth(channel: string): Shown | undefined {
    const newest = this.tabs.findLast((tab) => tab.channels.includes(channel));
    return newest && shownAs({ metadata: newest.metadata, state: newest.states.get(channel) });
  }

  async open(): Promise<void> {
    const { urls, key } = this.service;
    const number = ++this.opened;
    // Some tabs differ in their metadata, some only in their state, and a few have no metadata.
    const metadata = this.chance.once(5) ? undefined : { name: this.peerId, tab: this.chance.once(3) ? 0 : number };
    const tab = await Tab.open({ url: this.chance.pick(urls), key, peerId: this.peerId, metadata });
    this.tabs.push(tab);
    for (const channel of this.channels) {
      await tab.subscribe(channel);
      await tab.setState(channel, { tab: number, said: 0 });
    }
  }

  async step(): Promise<void> {
    const { chance } = this;
    const at = chance.below(this.tabs.length || 1);
    const tab = this.tabs[at];
    const what = chance.below(10);
    if (!tab || (what < 3 && this.tabs.length < TABS_MAX)) return this.open();
    if (what < 5) {
      this.tabs.splice(at, 1);
      if (what === 3) tab.close();
      else tab.lose();
      return;
    }
    const channel = chance.pick(this.channels);
    const isMember = tab.channels.includes(channel);
    if (what === 5 && isMember) return tab.unsubscribe(channel);
    if (!isMember || what === 6) await tab.subscribe(channel);
    await tab.setState(channel, { tab: this.opened, said: chance.bits() });
  }

  /** The service may have ended connections so that they resynchronise: they come back as clients do. */
  async mend(): Promise<void> {
    while (this.tabs.some(({ isOpen }) => !isOpen)) {
      this.tabs.splice(
        this.tabs.findIndex(({ isOpen }) => !isOpen),
        1,
      );
      await unlessEnded(this.open());
    }
  }
}

/** Only an end by the service may interrupt a step: `mend` makes up for it. */
async function unlessEnded(step: Promise<void>): Promise<void> {
  await step.catch((error: unknown) => {
    if (!(error instanceof Ended)) throw error;
  });
}

async function stopOften({ pids }: Joined, { stops, stopMaxMs }: Walk, chance: Chance): Promise<void> {
  for (let i = 0; i < stops; i++) {
    const pid = chance.pick(pids());
    process.kill(pid, "SIGSTOP");
    await Bun.sleep(stopMaxMs * (0.5 + chance.below(50) / 100));
    if (pids().includes(pid)) process.kill(pid, "SIGCONT");
    await Bun.sleep(chance.below(stopMaxMs));
  }
}

/** Fails unless every tab and every list agrees with the truth in the end. */
export async function walk(service: Joined, walk: Walk, chance: Chance): Promise<void> {
  const run = crypto.randomUUID().slice(0, 8);
  const channels = [`plain/${run}`, `grace/${run}`];
  const people = Array.from({ length: walk.peers }, (_, i) => new Person(service, `p${i}-${run}`, channels, chance));
  let isStopping = true;
  const live = async (person: Person): Promise<void> => {
    for (let i = 0; i < walk.steps || (isStopping && walk.pauseMaxMs > 0); i++) {
      await unlessEnded(person.step());
      // Spreads the steps over the stops.
      if (walk.pauseMaxMs > 0) await Bun.sleep(chance.below(walk.pauseMaxMs));
    }
  };
  const stop = async (): Promise<void> => {
    await stopOften(service, walk, chance);
    isStopping = false;
  };
  try {
    await Promise.all(people.map((person) => person.open()));
    await Promise.all([stop(), ...people.map(live)]);
    for (const person of people) await person.mend();
    for (const channel of channels) await agree(service, channel, people);
    for (const { aboutItself } of people.flatMap(({ tabs }) => tabs)) expect(aboutItself).toEqual([]);
  } finally {
    for (const { tabs } of people) for (const tab of tabs) tab.close();
  }
}

async function agree(service: Joined, channel: string, people: readonly Person[]): Promise<void> {
  let wrong: string[] = [];
  const look = async (): Promise<boolean> => {
    const truth = new Map(people.flatMap((one) => [[one.peerId, one.truth(channel)] as const]).filter(isMember));
    wrong = (await lists(service, channel)).flatMap((list, i) => differences(`list ${i}`, textOf(list), textOf(truth)));
    for (const { tabs, peerId } of people)
      for (const [i, tab] of tabs.entries()) {
        const known = tab.known(channel);
        if (known) wrong.push(...differences(`tab ${i} of ${peerId}`, textOf(known), textOf(truth, peerId)));
      }
    return wrong.length === 0;
  };
  await until("all know the same", look, AGREED_WITHIN_MS).catch(() => undefined);
  expect(wrong).toEqual([]);
}

const isMember = (entry: readonly [string, Shown | undefined]): entry is readonly [string, Shown] =>
  entry[1] !== undefined;

const differences = (who: string, known: string, truth: string): string[] =>
  known === truth ? [] : [`${who} knows ${known}, correct is ${truth}`];

/**
 * Pairs of tabs of one peer that connect at the same moment, each to another process where addresses allow it. Which of them is the
 * newer only the service knows: everyone must be shown the same, and metadata and state of the same tab.
 */
export async function pairs(service: Joined, rounds: number): Promise<void> {
  const run = crypto.randomUUID().slice(0, 8);
  const channel = `pairs/${run}`;
  const { urls, key } = service;
  const tabs: Tab[] = [];
  const open = async (url: string, peerId: string, metadata: unknown): Promise<Tab> => {
    const tab = await Tab.open({ url, key, peerId, metadata });
    tabs.push(tab);
    return tab;
  };
  try {
    const perUrl = service.processesPerUrl === 1 ? 1 : 2 * service.processesPerUrl;
    const places = urls.flatMap((url) => Array.from({ length: perUrl }, () => url));
    const witnesses = await Promise.all(places.map((url, i) => open(url, `w${i}-${run}`, undefined)));
    for (const witness of witnesses) await witness.subscribe(channel);
    for (let round = 0; round < rounds; round++) {
      const peerId = `pair${round}-${run}`;
      // Sometimes only their states differ.
      const metadataOf = (tab: number): unknown => (round % 3 === 2 ? { round } : { round, tab });
      const pair = await Promise.all([0, 1].map((tab) => open(urls[tab % urls.length] ?? "", peerId, metadataOf(tab))));
      await Promise.all(pair.map((tab) => tab.subscribe(channel)));
      await Promise.all(pair.map((one, tab) => one.setState(channel, { round, tab })));
    }
    const possible = (peerId: string): readonly Shown[] =>
      tabs
        .filter((tab) => tab.peerId === peerId)
        .map((tab) => shownAs({ metadata: tab.metadata, state: tab.states.get(channel) }));
    let wrong: string[] = [];
    const look = async (): Promise<boolean> => {
      const all = await lists(service, channel);
      const known = witnesses.flatMap((witness) => witness.known(channel) ?? []);
      wrong = [];
      for (let round = 0; round < rounds; round++) {
        const peerId = `pair${round}-${run}`;
        const shown = new Set([...all, ...known].map((view) => view.get(peerId) ?? `nothing in ${textOf(view)}`));
        const [one = ""] = shown;
        if (shown.size > 1 || !possible(peerId).includes(one))
          wrong.push(`${peerId} is shown as ${[...shown].join(" and ")}`);
      }
      return wrong.length === 0;
    };
    await until("all are shown the same", look).catch(() => undefined);
    expect(wrong).toEqual([]);
    for (const { aboutItself } of tabs) expect(aboutItself).toEqual([]);
  } finally {
    for (const tab of tabs) tab.close();
  }
}
