/** Checks before entering: is the service there, can this network reach a STUN server, and a TURN server. */
import { signal } from "@preact/signals";

export type Outcome = "running" | "ok" | "failed" | "none" | "unknown";

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

export const connectivity = signal<Connectivity>({ service: "running", stun: "unknown", turn: "unknown" });

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

/** Servers without credentials cannot be checked for relays: the service gives those only to people inside. */
export async function checkServers(servers: readonly RTCIceServer[]): Promise<void> {
  if (typeof RTCPeerConnection === "undefined") return set({ stun: "failed", turn: "failed" });
  const stun = withScheme(servers, /^stuns?:/);
  const turn = withScheme(servers, /^turns?:/);
  const usable = turn.filter(({ credential }) => credential !== undefined);
  const turnNow = turn.length > 0 ? "unknown" : "none";
  set({ stun: stun.length > 0 ? "running" : "none", turn: usable.length > 0 ? "running" : turnNow });
  await Promise.all([
    stun.length > 0 && isReached(stun, "srflx").then((isOk) => set({ stun: isOk ? "ok" : "failed" })),
    usable.length > 0 && isReached(usable, "relay").then((isOk) => set({ turn: isOk ? "ok" : "failed" })),
  ]);
}

/** Whether the servers give this browser an address of that type. */
async function isReached(iceServers: RTCIceServer[], type: "srflx" | "relay"): Promise<boolean> {
  const pc = new RTCPeerConnection({ iceServers, iceTransportPolicy: type === "relay" ? "relay" : "all" });
  let hasFailed = false;
  try {
    return await new Promise<boolean>((resolve) => {
      setTimeout(() => resolve(false), WITHIN_MS);
      pc.onicecandidateerror = () => {
        hasFailed = true;
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
