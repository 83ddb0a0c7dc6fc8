/** A participant whose page records: what its recorders make, what its page sends, and ways to lose it. */
import type { Browser, CDPSession, Page } from "playwright-core";
import { NetworkProxy, type NetworkProxyOptions } from "../../../support/network-proxy.ts";
import { Visitor } from "../../support/visitor.ts";
import { SentRecordings } from "./sent-recordings.ts";

/** One run of the browser's recorder, as the page has made it. */
export interface RecorderRun {
  /** The microphone alone is recorded while a camera takes long to open, as it may on a busy machine. */
  readonly source: "camera" | "microphone" | "screen";
  readonly startedMs: number;
  readonly parts: { readonly bytes: number; readonly atMs: number }[];
  hasStopped: boolean;
}

interface RecorderEvent {
  readonly run: string;
  readonly source: RecorderRun["source"];
  readonly is: "start" | "part" | "stop";
  /** By the page's clock, which is that of the service and of the test: a report can be late. */
  readonly atMs: number;
  readonly bytes?: number;
}

/** Every recorder of the page reports to the test. */
const REPORTING = `{
  const start = MediaRecorder.prototype.start;
  MediaRecorder.prototype.start = function (...args) {
    const run = crypto.randomUUID();
    const [sounds, pictures] = [this.stream.getAudioTracks().length, this.stream.getVideoTracks().length];
    const source = sounds === 0 ? "screen" : pictures === 0 ? "microphone" : "camera";
    const report = (is, bytes) => recorderReports({ run, source, is, atMs: Date.now(), bytes });
    this.addEventListener("dataavailable", ({ data }) => report("part", data.size));
    this.addEventListener("stop", () => report("stop"));
    report("start");
    return start.apply(this, args);
  };
}`;

/** Where a room is. */
export interface Destination {
  readonly host: string;
  /** Requests go there in the end; each participant has a port of its own on the way. */
  readonly port: number;
  /** With what follows the room's name in an address. */
  readonly path: string;
}

/** While a node or the network is away. */
const FAILED_REQUESTS = /ERR_|WebSocket|\b(4|5)\d\d\b/;

/** A listener for each of the two directions of each connection. */
function bothWays(sent: SentRecordings): NonNullable<NetworkProxyOptions["alter"]> {
  const taps = new Map<number, ReturnType<SentRecordings["tap"]>>();
  const tapOf = ({ number }: { readonly number: number }): ReturnType<SentRecordings["tap"]> => {
    const tap = taps.get(number) ?? sent.tap();
    taps.set(number, tap);
    return tap;
  };
  return { up: (link) => tapOf(link).up, down: (link) => tapOf(link).down };
}

export class RecordedPerson {
  readonly runs = new Map<string, RecorderRun>();

  private constructor(
    readonly name: string,
    readonly tab: Visitor,
    readonly sent: SentRecordings,
    private readonly network: NetworkProxy,
    private readonly address: string,
  ) {}

  static async arrive(browser: Browser, name: string, { host, port, path }: Destination): Promise<RecordedPerson> {
    const tab = await Visitor.open(browser, { expected: FAILED_REQUESTS });
    const sent = new SentRecordings();
    const network = await NetworkProxy.to(port, { alter: bothWays(sent) });
    const person = new RecordedPerson(name, tab, sent, network, `http://${host}:${network.port}/${path}`);
    await tab.context.exposeBinding("recorderReports", (_source, event: RecorderEvent) => person.reported(event));
    await tab.context.addInitScript(REPORTING);
    return person;
  }

  /** All requests and connections of its pages fail, until `online`. */
  offline(): void {
    this.network.cut();
  }

  online(): void {
    this.network.mend();
  }

  async enter(): Promise<void> {
    await this.tab.goto(this.address);
    await this.tab.enter(this.name);
  }

  /** Its tab's process dies, with its worker: no page of it runs anything any more. */
  async crash(): Promise<void> {
    const { page, context } = this.tab;
    const session: CDPSession = await context.newCDPSession(page);
    const crashed = new Promise<Page>((resolve) => page.once("crash", resolve));
    session.send("Page.crash").catch(() => undefined);
    await crashed;
    await page.close();
  }

  /** Another tab of the same browser, with what the one before has left on the disk. It enters again. */
  async comeBack(): Promise<void> {
    await (await this.tab.inNewTab()).goto(this.address);
    await this.tab.button(/^(Join|Agree and join)$/).click();
    await this.tab.inside();
  }

  /** What was recorded by runs of which something came. */
  get recorded(): RecorderRun[] {
    return [...this.runs.values()].filter(({ parts }) => parts.length > 0);
  }

  async leave(): Promise<void> {
    await this.tab.context.close();
    await this.network.close();
  }

  private reported({ run, source, is, atMs, bytes = 0 }: RecorderEvent): void {
    const known = this.runs.get(run) ?? { source, startedMs: atMs, parts: [], hasStopped: false };
    this.runs.set(run, known);
    if (is === "stop") known.hasStopped = true;
    if (is === "part" && bytes > 0) known.parts.push({ bytes, atMs });
  }
}
