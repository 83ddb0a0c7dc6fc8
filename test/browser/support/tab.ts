/** A page with the SDK, from the test's side. What each call does is in ../page/tab.mjs. */
import type { BrowserContext, Page } from "playwright-core";
import { TIMEOUT_MS, within } from "../../support/wait.ts";

export interface Credential {
  /** ws://… */
  readonly url: string;
  /** Default: a token for `peerId` from the page's own backend. */
  readonly apiKey?: string;
  readonly peerId?: string;
  /** How long the first token is valid; default: an hour, like all later ones. */
  readonly firstSeconds?: number;
  /** With examples/sdk-recovery; SignallingClient only. */
  readonly recovers?: true;
  /** With HttpSocket; SignallingClient only. */
  readonly isOverHttp?: true;
}

type InPage = { readonly tab: Readonly<Record<string, (...args: readonly unknown[]) => unknown>> };

export class Tab {
  /** Uncaught errors. */
  readonly faults: string[] = [];

  private constructor(private readonly page: Page) {
    page.on("pageerror", (error) => this.faults.push(String(error)));
  }

  static async open(context: BrowserContext, address: string): Promise<Tab> {
    const tab = new Tab(await context.newPage());
    await tab.page.goto(address, { waitUntil: "load" });
    return tab;
  }

  // SignallingClient

  /** Returns the peer id. */
  connect = (credential: Credential, channel: string) => this.ask<string>("connect", credential, channel);
  publish = (channel: string, data: unknown) => this.ask<void>("publish", channel, data);
  send = (to: string, data: unknown) => this.ask<void>("send", to, data);
  /** The sender of the direct message with that text. */
  direct = (text: string) => this.ask<string>("direct", text);
  /** The channel of which messages are missing. */
  gap = () => this.ask<string>("gap");
  /** All messages so far, in order. */
  texts = () => this.ask<string[]>("texts");
  saw = (peerId: string) => this.ask<true>("saw", peerId);
  /** The name of the SDK's error, or "connected". */
  refusal = (credential: Credential) => this.ask<string>("refusal", credential);
  why = (credential: Credential) => this.ask<{ status: number; error: string }>("why", credential);

  // MeteredPeer

  join = (credential: Credential, channel: string) => this.ask<string>("join", credential, channel);
  say = (data: unknown) => this.ask<void>("say", data);
  shareCamera = () => this.ask<void>("shareCamera");
  openChannel = () => this.ask<void>("openChannel");
  /** On the data channel. */
  tell = (text: string) => this.ask<void>("tell", text);
  received = (text: string) => this.ask<true>("received", text);
  /** The other peer's id, once a call has been established since the last time this was called. */
  inCall = () => this.ask<string>("inCall");
  /** How many video frames of this call have been decoded, once one was shown. */
  picture = () => this.ask<number>("picture");
  /** Resolves when the video of the other side goes on. */
  playing = () => this.ask<number>("playing");
  /** Resolves when it is in its channel, also after a reconnect. */
  isMember = () => this.ask<true>("isMember");
  /** The peers that the application saw join and leave since the page was loaded. */
  comings = () => this.ask<string[]>("comings");
  reload = () => this.page.reload({ waitUntil: "load" });
  reconnecting = () => this.ask<true>("reconnecting");

  /** The sender of the channel message with that text; both classes of the SDK. */
  heard = (text: string) => this.ask<string>("heard", text);

  private ask<T>(method: string, ...args: unknown[]): Promise<T> {
    const answer = this.page.evaluate(([name, given]) => (globalThis as unknown as InPage).tab[name]?.(...given) as T, [
      method,
      args,
    ] as const);
    return within(
      `${method}(${args.map((arg) => JSON.stringify(arg)).join(", ")})`,
      answer as Promise<T>,
      TIMEOUT_MS,
      async () => JSON.stringify(await this.page.evaluate(() => (globalThis as unknown as InPage).tab.story?.())),
    );
  }
}
