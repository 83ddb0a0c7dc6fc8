/** Checks before entering: is the service there, can this network reach a STUN server, and a TURN server. */
import { signal } from "@preact/signals";

export type Outcome = "running" | "ok" | "failed" | "none";

export interface Connectivity {
  readonly service: Outcome;
  readonly stun: Outcome;
  readonly turn: Outcome;
}

const WITHIN_MS = 8000;

const urlsOf = ({ urls }: RTCIceServer): readonly string[] => (typeof urls === "string" ? [urls] : urls);

const withScheme = (servers: readonly RTCIceServer[], scheme: RegExp): RTCIceServer[] =>
  servers.flatMap((server) => {
    const urls = urlsOf(server).filter((url) => scheme.test(url));
    return urls.length > 0 ? [{ ...server, urls }] : [];
  });

export const connectivity = signal<Connectivity>({ service: "running", stun: "running", turn: "running" });

const set = (part: Partial<Connectivity>): void => {
  connectivity.value = { ...connectivity.value, ...part };
};

export async function checkService(reach: () => Promise<unknown>): Promise<void> {
  set({ service: "running" });
  set({
    service: await reach().then(
      () => "ok" as const,
      () => "failed" as const,
    ),
  });
}

/**
 * Before entering, TURN servers come without credentials: those are for people inside. A server that refuses the made-up ones is reached all
 * the same, and that is what is asked here.
 */
export async function checkServers(servers: readonly RTCIceServer[]): Promise<void> {
  if (typeof RTCPeerConnection === "undefined") return set({ stun: "failed", turn: "failed" });
  const stun = withScheme(servers, /^stuns?:/);
  const turn = withScheme(servers, /^turns?:/).map((server) => ({ username: "check", credential: "check", ...server }));
  set({ stun: stun.length > 0 ? "running" : "none", turn: turn.length > 0 ? "running" : "none" });
  await Promise.all([
    stun.length > 0 && isReached(stun, "srflx").then((isOk) => set({ stun: isOk ? "ok" : "failed" })),
    turn.length > 0 && isReached(turn, "relay").then((isOk) => set({ turn: isOk ? "ok" : "failed" })),
  ]);
}

/** Codes of STUN (RFC 8489): an answer of the server. 701 and above: the browser has none. */
const isAnswer = (code: number): boolean => code >= 300 && code < 700;

/** Whether the servers answer: with an address of that type, or with a refusal. */
async function isReached(iceServers: RTCIceServer[], type: "srflx" | "relay"): Promise<boolean> {
  const pc = new RTCPeerConnection({ iceServers, iceTransportPolicy: type === "relay" ? "relay" : "all" });
  let hasFailed = false;
  try {
    return await new Promise<boolean>((resolve) => {
      setTimeout(() => resolve(false), WITHIN_MS);
      pc.onicecandidateerror = ({ errorCode }) => {
        if (isAnswer(errorCode)) resolve(true);
        else hasFailed = true;
      };
      pc.onicecandidate = ({ candidate }) => {
        // A machine with a public address is found under its own: that is no candidate of another type.
        if (candidate === null) resolve(type === "srflx" && !hasFailed);
        else if (candidate.type === type) resolve(true);
      };
      pc.createDataChannel("");
      pc.setLocalDescription().catch(() => resolve(false));
    });
  } finally {
    pc.close();
  }
}
