/** A page in one of the two networks, which calls one in the other. The test carries their descriptions, as the signalling of an application does. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { launchChromiumBy } from "../../browser/support/chromium.ts";
import { inPlace, type Place } from "./network.ts";

export interface IceServer {
  readonly urls: string | readonly string[];
  readonly username?: string;
  readonly credential?: string;
}

/** What the end of a call looks like at one side. */
export interface Outcome {
  readonly state: "connected" | "failed";
  /** What came over the data channel. */
  readonly heard: string;
  /** The kind of the own candidate that is used: host, srflx, prflx or relay. */
  readonly kind: string;
  /** Codes with which STUN and TURN servers refused. */
  readonly errors: readonly number[];
}

/** The functions that the script below puts into the page. */
interface Calls {
  offer(iceServers: readonly IceServer[]): Promise<string>;
  answer(offer: string, iceServers: readonly IceServer[]): Promise<string>;
  accept(answer: string): Promise<void>;
  outcome(): Promise<Outcome>;
}

const SCRIPT = `
let pc, outcome;
const gathered = () => new Promise((resolve) => {
  const look = () => pc.iceGatheringState === "complete" && resolve(pc.localDescription.sdp);
  pc.addEventListener("icegatheringstatechange", look);
  look();
});
const ownKind = async () => {
  const stats = [...(await pc.getStats()).values()];
  const { selectedCandidatePairId } = stats.find(({ type }) => type === "transport");
  const { localCandidateId } = stats.find(({ id }) => id === selectedCandidatePairId);
  return stats.find(({ id }) => id === localCandidateId).candidateType;
};
const begin = (iceServers) => {
  pc = new RTCPeerConnection({ iceServers });
  const errors = [];
  pc.addEventListener("icecandidateerror", ({ errorCode }) => errors.push(errorCode));
  outcome = new Promise((resolve) => {
    pc.addEventListener("connectionstatechange", () => {
      if (pc.connectionState === "failed") resolve({ state: "failed", heard: "", kind: "", errors });
    });
    const listen = (channel) => {
      channel.onopen = () => channel.send("hello");
      channel.onmessage = async ({ data }) => resolve({ state: "connected", heard: data, kind: await ownKind(), errors });
    };
    pc.addEventListener("datachannel", ({ channel }) => listen(channel));
    listen(pc.createDataChannel("talk", { negotiated: true, id: 1 }));
  });
};
globalThis.calls = {
  async offer(iceServers) {
    begin(iceServers);
    await pc.setLocalDescription();
    return gathered();
  },
  async answer(sdp, iceServers) {
    begin(iceServers);
    await pc.setRemoteDescription({ type: "offer", sdp });
    await pc.setLocalDescription();
    return gathered();
  },
  accept: (sdp) => pc.setRemoteDescription({ type: "answer", sdp }),
  outcome: () => outcome,
};`;

/** `folder` is for the program that starts Chromium in that network. */
export async function launchIn(place: Place, folder: string): Promise<Browser> {
  const own = join(folder, place);
  mkdirSync(own);
  return launchChromiumBy(inPlace(place), own);
}

export class Caller {
  private constructor(
    private readonly browser: Browser,
    private readonly page: Page,
  ) {}

  static async open(place: Place, folder: string): Promise<Caller> {
    const browser = await launchIn(place, folder);
    const page = await browser.newPage();
    await page.evaluate(SCRIPT);
    return new Caller(browser, page);
  }

  ask<K extends keyof Calls>(what: K, ...args: Parameters<Calls[K]>): ReturnType<Calls[K]> {
    const asked = this.page.evaluate(
      ([name, given]) =>
        (globalThis as unknown as { calls: Record<string, (...all: unknown[]) => unknown> }).calls[name]?.(...given),
      [what, args] as [string, unknown[]],
    );
    return asked as ReturnType<Calls[K]>;
  }

  stop(): Promise<void> {
    return this.browser.close();
  }
}

/** One call, to its end: both sides have heard the other, or have given up. */
export async function callBetween(
  [one, other]: readonly [Caller, Caller],
  [ofOne, ofOther]: readonly [readonly IceServer[], readonly IceServer[]],
): Promise<readonly [Outcome, Outcome]> {
  const offer = await one.ask("offer", ofOne);
  await one.ask("accept", await other.ask("answer", offer, ofOther));
  return Promise.all([one.ask("outcome"), other.ask("outcome")]);
}
