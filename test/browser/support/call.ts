/**
 * Two pages in a call, each with its own network line to the service. Alice has a camera and opens the data channel; Bob only receives.
 * That is the hardest case for a call that goes on: a page without media offers nothing when it comes back.
 */
import type { Browser, BrowserContext } from "playwright-core";
import { call } from "../../support/http.ts";
import { until } from "../../support/wait.ts";
import { Line } from "./line.ts";
import type { Site } from "./site.ts";
import { type Credential, Tab } from "./tab.ts";

export type Who = "alice" | "bob";

/** Where the two connect, and a key of the service. */
export interface Place {
  readonly url: string;
  readonly secretKey: string;
  readonly ports: Readonly<Record<Who, number>>;
}

export class Call {
  private said = 0;

  private constructor(
    private readonly context: BrowserContext,
    private readonly place: Place,
    private readonly room: string,
    private readonly credentials: Readonly<Record<Who, Credential>>,
    readonly lines: Readonly<Record<Who, Line>>,
    readonly alice: Tab,
    readonly bob: Tab,
  ) {}

  static async begin(
    browser: Browser,
    site: Site,
    place: Place,
    room: string,
    firstSeconds: Partial<Record<Who, number>> = {},
  ): Promise<Call> {
    const context = await browser.newContext();
    const lines = { alice: await Line.to(place.ports.alice), bob: await Line.to(place.ports.bob) };
    const credential = (who: Who): Credential => ({
      url: `ws://127.0.0.1:${lines[who].port}`,
      peerId: who,
      ...(firstSeconds[who] && { firstSeconds: firstSeconds[who] }),
    });
    const open = (): Promise<Tab> => Tab.open(context, `${site.origin}/`);
    const credentials = { alice: credential("alice"), bob: credential("bob") };
    const call = new Call(context, place, room, credentials, lines, await open(), await open());
    for (const who of ["alice", "bob"] as const) await call.join(who);
    await Promise.all([call.alice.inCall(), call.bob.inCall()]);
    await call.alice.openChannel();
    await call.isProven();
    return call;
  }

  get faults(): string[] {
    return [...this.alice.faults, ...this.bob.faults];
  }

  /** It joins again when the service has noticed the end of its connection; earlier, it would be a second one of the same peer. */
  async reload(who: Who): Promise<void> {
    await this[who].reload();
    await until("the connection of the page that was reloaded has ended", async () => (await this.connections()) === 1);
    await this.join(who);
    if (who === "alice") await this.alice.openChannel();
  }

  /** Resolves when both pages are members again, the video goes on, and messages pass both ways on each path. */
  async goesOn(): Promise<void> {
    await Promise.all([this.alice.isMember(), this.bob.isMember()]);
    await this.isProven();
  }

  /** What each application saw of the other since its page was loaded. */
  async comings(): Promise<Record<string, string[]>> {
    return { alice: await this.alice.comings(), bob: await this.bob.comings() };
  }

  async end(): Promise<void> {
    await this.context.close();
    await Promise.all(Object.values(this.lines).map((line) => line.close()));
  }

  private async connections(): Promise<number> {
    const { url, secretKey } = this.place;
    type Found = { data: { channel: string; connections: number }[] };
    const { body } = await call<Found>(`${url}/v1/channels?prefix=${this.room}`, { bearer: secretKey });
    return body.data.find(({ channel }) => channel === this.room)?.connections ?? 0;
  }

  private async join(who: Who): Promise<void> {
    await this[who].join(this.credentials[who], this.room);
    if (who === "alice") await this.alice.shareCamera();
  }

  private async isProven(): Promise<void> {
    const { alice, bob } = this;
    const text = `${++this.said}`;
    await Promise.all([
      bob.playing(),
      alice.say({ text: `from alice ${text}` }).then(() => bob.heard(`from alice ${text}`)),
      bob.say({ text: `from bob ${text}` }).then(() => alice.heard(`from bob ${text}`)),
      alice.tell(`from alice ${text}`).then(() => bob.received(`from alice ${text}`)),
    ]);
    await bob.tell(`from bob ${text}`);
    await alice.received(`from bob ${text}`);
  }
}
