/** One page in a meeting, with its own line to the service. What each call does is in ../page/call.mjs. */
import type { BrowserContext, CDPSession, Page } from "playwright-core";
import { within } from "../../../support/wait.ts";
import { Line } from "../../support/line.ts";
import type { Joined, MeetingPlace } from "./meeting-place.ts";

type InPage = { readonly attendee: Readonly<Record<string, (...args: readonly unknown[]) => unknown>> };

/** Without bounds Chromium leaves out the packets of WebRTC, also when it is offline later. */
const FAST = { latency: 0, downloadThroughput: 10_000_000, uploadThroughput: 10_000_000, packetQueueLength: 1000 };
const EVERYTHING_PERCENT = 100;

/** Pictures are encoded and decoded without a graphics card, beside other suites. */
export const SLOW_MS = 60_000;

export type Kind = "audio" | "video" | "screen";

export class Attendee {
  /** Uncaught errors, and warnings. */
  readonly faults: string[] = [];
  private joined: Joined | undefined;
  private devTools: CDPSession | undefined;

  private constructor(
    readonly name: string,
    readonly page: Page,
    readonly line: Line,
    private readonly place: MeetingPlace,
  ) {
    page.on("pageerror", (error) => this.faults.push(String(error)));
  }

  static async open(context: BrowserContext, address: string, place: MeetingPlace, name: string): Promise<Attendee> {
    const attendee = new Attendee(name, await context.newPage(), await Line.to(place.port), place);
    await attendee.page.exposeFunction("nextToken", () => attendee.nextToken());
    await attendee.page.goto(address, { waitUntil: "load" });
    return attendee;
  }

  get id(): string {
    return this.joined?.participantSession ?? "";
  }

  async enter(...kinds: Kind[]): Promise<void> {
    const earlier = this.joined?.connect.token;
    const joined = await this.place.join({ name: this.name, ...(earlier !== undefined && { resume: earlier }) });
    this.joined = joined;
    const { connect, name, isAdmin, isGuest, iceServers } = joined;
    for (const kind of kinds) await this.publish(kind);
    const url = `ws://127.0.0.1:${this.line.port}`;
    const opening = { connect: { ...connect, url }, name, isAdmin, isGuest, isResumed: earlier !== undefined };
    await this.ask("enter", opening, iceServers);
  }

  publish = (kind: Kind) => this.ask<void>("publish", kind);
  withdraw = (kind: Kind) => this.ask<void>("withdraw", kind);
  mute = (kind: Kind, isMuted: boolean) => this.ask<void>("mute", kind, isMuted);
  say = (text: string) => this.ask<void>("say", text);
  /** Resolves when pictures or sound of these others arrive; one call at a time. */
  flows = (...wanted: readonly (readonly [Attendee, Kind])[]) =>
    this.ask<true>(
      "flows",
      wanted.map(([from, kind]) => [from.id, kind]),
    );
  missing = () => this.ask<string[]>("missing");
  fallsSilent = (from: Attendee) => this.ask<true>("falls", from.id, "audio");
  gone = (from: Attendee, kind: Kind) => this.ask<true>("gone", from.id, kind);
  says = (from: Attendee, kind: Kind, is: boolean) => this.ask<true>("says", from.id, kind, is);
  noticed = (text: string) => this.ask<true>("noticed", text);
  online = (is: boolean) => this.ask<true>("online", is);
  isLost = (from: Attendee) => this.ask<true>("isLost", from.id);
  quality = (from: Attendee, quality: string) => this.ask<true>("quality", from.id, quality);
  ended = () => this.ask<string>("ended");
  people = () => this.ask<string[]>("people");
  story = () => this.ask<string[]>("story");
  leave = () => this.ask<void>("leave");

  /** The participants that this page saw leave, or join a second time. The first time may be in the roster, or a moment later. */
  async goings(): Promise<string[]> {
    const seen = (await this.story()).filter((one) => / (joined|left)$/.test(one));
    return seen.filter((one, at) => one.endsWith(" left") || seen.indexOf(one) < at);
  }

  /** Before it enters: connections that are made earlier are not affected when the network is lost. */
  async mayLoseNetwork(): Promise<void> {
    await this.emulate(false);
  }

  /** Neither the service nor another page can be reached. */
  async loseNetwork(): Promise<void> {
    await this.emulate(true);
    this.line.cut();
  }

  async findNetwork(): Promise<void> {
    await this.emulate(false);
    this.line.mend();
  }

  async reload(...kinds: Kind[]): Promise<void> {
    await this.page.reload({ waitUntil: "load" });
    await this.enter(...kinds);
  }

  async close(): Promise<void> {
    await this.page.close();
    await this.line.close();
  }

  private async emulate(offline: boolean): Promise<void> {
    this.devTools ??= await this.page.context().newCDPSession(this.page);
    await this.devTools.send("Network.enable");
    await this.devTools.send("Network.emulateNetworkConditions", {
      ...FAST,
      offline,
      packetLoss: offline ? EVERYTHING_PERCENT : 0,
    });
  }

  private async nextToken(): Promise<string | null> {
    const joined = await this.place.join({ name: this.name, resume: this.joined?.connect.token ?? "" });
    return joined.connect.token;
  }

  private ask<T>(method: string, ...args: unknown[]): Promise<T> {
    const answer = this.page.evaluate(
      ([name, given]) => (globalThis as unknown as InPage).attendee[name]?.(...given) as T,
      [method, args] as const,
    );
    const what = `${this.name}: ${method}(${args.map((arg) => JSON.stringify(arg)).join(", ")})`;
    return within(what, answer as Promise<T>, SLOW_MS, async () => {
      const story = await this.page.evaluate(() => (globalThis as unknown as InPage).attendee.story?.());
      return JSON.stringify(story);
    });
  }
}
