/** What must not end a call, for one node and for several. */
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import type { Admin } from "../../support/admin.ts";
import { Call, type Who } from "./call.ts";
import { launchChromium } from "./chromium.ts";
import { Site } from "./site.ts";

/** Where the pages of a call connect. */
export interface Ground {
  readonly url: string;
  readonly secretKey: string;
  readonly admin: Admin;
  readonly ports: Readonly<Record<Who, number>>;
  stop(): Promise<void>;
}

export interface Beginning {
  readonly isGraceful?: boolean;
  /** How long the first tokens are valid. */
  readonly firstSeconds?: Partial<Record<Who, number>>;
  /** Default: those of the ground. */
  readonly ports?: Readonly<Record<Who, number>>;
}

/** Only with --full: every case, with each of the pages. */
export const IS_FULL = process.env.PARLEY_TEST_FULL === "1";

/** Members that are lost stay in channels with this prefix. */
const GRACE = "room/grace-";

/** Nothing but the beginning of the call. */
export const met = (peer: string): string[] => [`peer-joined ${peer}`];
export const metTwice = (peer: string): string[] => [...met(peer), `peer-left ${peer}`, ...met(peer)];

export class CallCases<G extends Ground> {
  private browser: Browser | undefined;
  private site: Site | undefined;
  private started: G | undefined;
  private call: Call | undefined;
  private calls = 0;

  constructor(start: () => Promise<G>) {
    beforeAll(async () => {
      const ground = await start();
      this.started = ground;
      await ground.admin.must("PATCH", "/apps/demo", { channelRules: [{ pattern: `${GRACE}*`, graceSec: 30 }] });
      this.site = new Site({ url: ground.url, secretKey: ground.secretKey });
      this.browser = await launchChromium();
    });
    afterEach(async () => {
      await this.call?.end();
      expect(this.call?.faults).toEqual([]);
    });
    afterAll(async () => {
      await this.browser?.close();
      await this.site?.stop();
      await this.started?.stop();
    });
  }

  get ground(): G {
    if (!this.started) throw new Error("the service has not started");
    return this.started;
  }

  async begin({ isGraceful = false, firstSeconds, ports }: Beginning = {}): Promise<Call> {
    const { browser, site } = this;
    if (!browser || !site) throw new Error("there is no browser");
    const { url, secretKey, ports: usual } = this.ground;
    const room = `${isGraceful ? GRACE : "room/"}${++this.calls}`;
    this.call = await Call.begin(browser, site, { url, secretKey, ports: ports ?? usual }, room, firstSeconds);
    return this.call;
  }

  /** Only one of the two comes back: the other is shown that, because its SDK has to renew its side of the call. */
  oneReturns(who: Who): void {
    const other = who === "alice" ? "bob" : "alice";
    const expected = { [who]: met(other), [other]: metTwice(who) };

    for (const isGraceful of IS_FULL ? [true, false] : []) {
      const where = isGraceful ? ", in a channel with a grace" : "";

      test(`${who} loses the network for a moment${where}`, async () => {
        const call = await this.begin({ isGraceful });
        call.lines[who].cut();
        await call[who].reconnecting();
        call.lines[who].mend();
        await call.goesOn();
        expect(await call.comings()).toEqual(expected);
      });

      test(`${who} reloads the page${where}`, async () => {
        const call = await this.begin({ isGraceful });
        await call.reload(who);
        await call.goesOn();
        expect(await call.comings()).toEqual(expected);
      });
    }

    test(`the token of ${who} expires`, async () => {
      const call = await this.begin({ firstSeconds: { [who]: 5 } });
      await call[who].reconnecting();
      await call.goesOn();
      expect(await call.comings()).toEqual(expected);
    });
  }
}
