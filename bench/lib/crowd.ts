/**
 * A process full of peers, controlled by the benchmark over IPC. The server's CPU and memory can be measured only if its clients
 * are in other processes.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Answer, Order, Part, Report } from "./crowds.ts";
import { Peer, sharedMs, type Target } from "./peer.ts";
import { PeersSeen } from "./peers-seen.ts";
import type { Identity } from "./token.ts";
import type { Ending } from "./websocket.ts";

const ENDINGS: readonly Ending[] = ["close", "end", "reset"];
/** A storm is over when every peer knows all others and nothing has arrived for this long. */
const SILENCE_MS = 1000;

const LIFE_SECONDS = 3600;

const groups = new Map<string, Peer[]>();

/** Peers of a group are numbered consecutively; a channel takes the next `channelSize` of them. */
const channelOf = (group: string, number: number, channelSize: number): string =>
  `${group}/${Math.floor(number / channelSize)}`;

function newPeer(part: Part, number: number): Peer {
  const { channelSize } = part;
  const first = Math.floor(number / channelSize) * channelSize;
  return new Peer(identityOf(part, number), new PeersSeen(number, first, channelSize));
}

function identityOf({ group, metadataBytes = 0 }: Part, number: number): Identity {
  const digits = String(number).padStart(5, "0");
  const peerMetadata = { name: `Peer ${digits}`, ...(metadataBytes > 0 && { about: "x".repeat(metadataBytes) }) };
  // Tokens are issued at different times and with different lifetimes, so that hardly two of them expire in the same second.
  return { peerId: `${group}-${digits}`, peerMetadata, lifeSeconds: LIFE_SECONDS + number };
}

/** Calls a function for each number, `inFlight` at a time. */
async function eachOf({ from, to, inFlight }: Part, work: (number: number) => Promise<void>): Promise<void> {
  let next = from;
  const worker = async (): Promise<void> => {
    while (next < to) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(inFlight, to - from) }, worker));
}

async function connect(target: Target, part: Part): Promise<void> {
  const peers = membersOf(part.group);
  await eachOf(part, async (number) => {
    const peer = newPeer(part, number);
    peers.push(peer);
    await peer.connect(target);
  });
}

async function join(target: Target, part: Part): Promise<void> {
  const peers = membersOf(part.group);
  await eachOf(part, async (number) => {
    const peer = newPeer(part, number);
    peers.push(peer);
    await peer.connect(target);
    await peer.subscribe(channelOf(part.group, number, part.channelSize));
  });
}

async function leave(group: string): Promise<void> {
  const peers = membersOf(group);
  groups.delete(group);
  await Promise.all(peers.map((peer, i) => peer.leave(ENDINGS[i % ENDINGS.length]!)));
}

/** All connected peers subscribe in one turn of the event loop. */
function subscribeAtOnce({ group, channelSize, from }: Part): void {
  for (const [i, peer] of membersOf(group).entries()) {
    peer.keepsLongFrames = true;
    peer.ask("subscribe", channelOf(group, from + i, channelSize));
  }
}

async function connectAndSubscribe(target: Target, part: Part): Promise<void> {
  const peers = membersOf(part.group);
  await eachOf(part, async (number) => {
    const peer = newPeer(part, number);
    peer.keepsLongFrames = true;
    peers.push(peer);
    await peer.connect(target);
    peer.ask("subscribe", channelOf(part.group, number, part.channelSize));
  });
}

/** Waits until every peer knows all others, plus a quiet period: duplicates arrive late. */
async function untilContent(group: string, withinMs: number): Promise<void> {
  const peers = membersOf(group);
  const deadline = sharedMs() + withinMs;
  while (sharedMs() < deadline) {
    await sleep(SILENCE_MS / 4);
    if (sharedMs() - lastFrameMs(peers) < SILENCE_MS) continue;
    for (const peer of peers) peer.readKept();
    if (peers.every((peer) => peer.isContent)) return;
  }
}

/**
 * Every second cycle uses a new channel each time, and waits for the roster; the others share channels and disconnect before
 * their roster arrives.
 */
async function cycleSubscriptions(part: Part, cycles: number): Promise<void> {
  const peers = membersOf(part.group);
  await Promise.all(
    peers.map(async (peer, i) => {
      for (let cycle = 0; cycle < cycles; cycle++) {
        const ownsChannel = cycle % 2 === 0;
        const shared = channelOf(part.group, part.from + i + cycle, part.channelSize);
        const channel = ownsChannel ? `${peer.peerId}/${crypto.randomUUID()}` : shared;
        await peer.subscribe(channel, ownsChannel);
        await peer.unsubscribe(channel);
      }
    }),
  );
}

async function cycleConnections(target: Target, part: Part): Promise<void> {
  await eachOf(part, async (number) => {
    const peer = new Peer(identityOf(part, number));
    await peer.connect(target);
    await peer.subscribe(channelOf(part.group, number, part.channelSize));
    await peer.leave(ENDINGS[number % ENDINGS.length]!);
  });
}

function membersOf(group: string): Peer[] {
  let peers = groups.get(group);
  if (!peers) {
    peers = [];
    groups.set(group, peers);
  }
  return peers;
}

const lastFrameMs = (peers: readonly Peer[]): number =>
  peers.reduce((last, peer) => Math.max(last, peer.lastFrameMs), 0);

function report(group: string, startedMs: number): Report {
  const peers = groups.get(group) ?? [];
  return {
    startedMs,
    lastFrameMs: lastFrameMs(peers),
    peers: peers.length,
    content: peers.filter((peer) => peer.isContent).length,
    frames: peers.reduce((sum, peer) => sum + peer.frames, 0),
    bytes: peers.reduce((sum, peer) => sum + peer.bytes, 0),
    problem: peers.map((peer) => peer.problem).find((problem) => problem !== undefined),
  };
}

async function obey(order: Order): Promise<Report> {
  const startedMs = sharedMs();
  const { part, target } = order;
  switch (order.do) {
    case "connect":
      await connect(target, part);
      break;
    case "join":
      await join(target, part);
      break;
    case "leave":
      await leave(part.group);
      break;
    case "storm":
      if (order.connected) subscribeAtOnce(part);
      else await connectAndSubscribe(target, part);
      await untilContent(part.group, order.withinMs);
      break;
    case "cycle subscriptions":
      await cycleSubscriptions(part, order.cycles);
      break;
    case "cycle connections":
      await cycleConnections(target, part);
      break;
    case "report":
      break;
  }
  return report(part.group, startedMs);
}

const answer = (message: Answer): void => {
  process.send?.(message);
};

process.on("message", (order: Order) => {
  obey(order).then(
    (done) => answer({ done }),
    (error: Error) => answer({ failed: error.message }),
  );
});
// The benchmark has ended, so this process ends too.
process.on("disconnect", () => process.exit(0));
answer({ ready: true });
