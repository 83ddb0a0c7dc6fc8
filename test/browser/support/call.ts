/**
 * Two pages in a call, each with its own network line to the service. Alice has a camera and opens the data channel; Bob only receives.
 * That is the hardest case for a call that goes on: a page without media offers nothing when it comes back.
 */
import type { Browser, BrowserContext } from "playwright-core";
import { Line } from "./line.ts";
import type { Site } from "./site.ts";
import { type Credential, Tab } from "./tab.ts";

export type Who = "alice" | "bob";

let calls = 0;

export class Call {
  private said = 0;

  private constructor(
    private readonly context: BrowserContext,
    private readonly room: string,
    private readonly credentials: Readonly<Record<Who, Credential>>,
    readonly lines: Readonly<Record<Who, Line>>,
    readonly alice: Tab,
    readonly bob: Tab,
  ) {}

  /** `ports`: where each of them connects. */
  static async begin(
    browser: Browser,
    site: Site,
    ports: number | Readonly<Record<Who, number>>,
    more: Partial<Record<Who, Partial<Credential>>> = {},
  ): Promise<Call> {
    const context = await browser.newContext();
    const to = (who: Who): Promise<Line> => Line.to(typeof ports === "number" ? ports : ports[who]);
    const lines = { alice: await to("alice"), bob: await to("bob") };
    const credential = (who: Who): Credential => ({
      url: `ws://127.0.0.1:${lines[who].port}`,
      peerId: who,
      ...more[who],
    });
    const open = (): Promise<Tab> => Tab.open(context, `${site.origin}/`);
    const credentials = { alice: credential("alice"), bob: credential("bob") };
    const call = new Call(context, `room/call-${++calls}`, credentials, lines, await open(), await open());
    for (const who of ["alice", "bob"] as const) await call.join(who);
    await Promise.all([call.alice.inCall(), call.bob.inCall()]);
    await call.alice.openChannel();
    await call.isProven();
    return call;
  }

  get faults(): string[] {
    return [...this.alice.faults, ...this.bob.faults];
  }

  async reload(who: Who): Promise<void> {
    await this[who].reload();
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
