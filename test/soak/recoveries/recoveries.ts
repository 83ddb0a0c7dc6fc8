/** Very many recoveries against a running service, each judged by the checker. */
import { Checker } from "../../../src/verify/checker.ts";
import { Findings, type Problem } from "../../../src/verify/findings.ts";
import type { SecretKey } from "../../support/admin.ts";
import { nowSeconds, selfSigned } from "../../support/jwt.ts";
import { until } from "../../support/wait.ts";
import { Figures, Reader } from "./reader.ts";
import { Writer } from "./writer.ts";

export interface RecoveriesOptions {
  /** Addresses of the nodes; they may change when a node restarts. */
  readonly urls: () => readonly string[];
  /** Publishes and subscribes in `recover/**`, which a rule gives at least 1,000 messages of history. */
  readonly key: SecretKey;
  readonly recoveries: number;
  readonly readers: number;
  readonly channels: number;
  /** Messages per second, over all channels. */
  readonly rate: number;
  readonly print?: (line: string) => void;
}

export interface RecoveriesReport {
  readonly recoveries: number;
  readonly unrecovered: number;
  readonly reconnected: number;
  readonly replayed: number;
  readonly published: number;
  readonly deliveries: number;
  readonly seconds: number;
  readonly perSecond: number;
  /** Errors and closes, by code. */
  readonly codes: Readonly<Record<string, number>>;
  readonly problems: readonly Problem[];
}

const PACE_MS = 10;
const BACKLOG_MAX_MS = 500;
const PRINT_EVERY_MS = 5000;
/** Judged and forgotten when ended this long: until then an ack may say whose an offset is. */
const QUIET_MS = 3000;
const SETTLE_MS = 30_000;
const TOKEN_SECONDS = 6 * 3600;

export async function recoveries(options: RecoveriesOptions): Promise<RecoveriesReport> {
  const { urls, key, print } = options;
  const checker = new Checker(() => performance.now());
  const violations = new Findings();
  const figures = new Figures();
  const run = crypto.randomUUID().slice(0, 8);
  const channels = Array.from({ length: options.channels }, (_, at) => `recover/${run}/${at}`);
  const channelAt = (at: number): string => channels[at % channels.length] ?? "";
  // Without the action presence there are no rosters, which would be most of the traffic.
  const addressFor = ({ index, peer, tries }: { index: number; peer: string; tries: number }): string => {
    const claims = { sub: peer, exp: nowSeconds() + TOKEN_SECONDS, permissions: ["publish", "subscribe"] };
    const all = urls();
    const url = all[(index + tries) % all.length] ?? "";
    return `${url.replace(/^http/, "ws")}/v1?token=${selfSigned(key.keyId, key.secret, claims)}`;
  };
  const context = { checker, violations, figures, addressFor, newest: new Map<string, number>() };
  const readers = Array.from({ length: options.readers }, (_, at) => {
    return new Reader(at, `${run}-r${at}`, channelAt(at), context);
  });
  // One per channel: over several nodes a connection waits for each of its messages before it stores one of another channel.
  const writers = channels.map((_, at) => new Writer(at, `${run}-w${at}`, context));
  const report = (): Omit<RecoveriesReport, "problems"> => {
    const seconds = (performance.now() - beganMs) / 1000;
    const { recoveries: count, unrecovered, reconnected, published, codes } = figures;
    return {
      recoveries: count,
      unrecovered,
      reconnected,
      replayed: checker.recoveries.replayed,
      published,
      deliveries: checker.deliveries,
      seconds: Math.round(seconds * 10) / 10,
      perSecond: Math.round(count / seconds),
      codes: Object.fromEntries(codes),
    };
  };
  const beganMs = performance.now();
  let sentUntilMs = beganMs;
  let turn = 0;
  const pace = setInterval(() => {
    const nowMs = performance.now();
    sentUntilMs = Math.max(sentUntilMs, nowMs - BACKLOG_MAX_MS);
    const step = 1000 / options.rate;
    for (; sentUntilMs + step <= nowMs; sentUntilMs += step) writers[++turn % writers.length]?.publish(channelAt(turn));
  }, PACE_MS);
  const forgetting = setInterval(() => {
    checker.prune(QUIET_MS);
    for (const reader of readers) reader.tick();
  }, 1000);
  const printing = setInterval(() => print?.(JSON.stringify(report())), PRINT_EVERY_MS);
  try {
    for (const one of [...writers, ...readers]) one.connect();
    while (figures.recoveries < options.recoveries) await Bun.sleep(PACE_MS);
    for (const reader of readers) reader.stop();
    clearInterval(pace);
    const isOver = (): boolean => readers.every((one) => one.isLive) && problems(checker, violations).length === 0;
    await until("something is missing", isOver, SETTLE_MS).catch(() => undefined);
    return { ...report(), problems: problems(checker, violations) };
  } finally {
    for (const timer of [pace, forgetting, printing]) clearInterval(timer);
    for (const one of [...writers, ...readers]) one.close();
  }
}

/** Clients without the action presence have no rosters. */
const problems = (checker: Checker, violations: Findings): readonly Problem[] =>
  [...checker.verdict(), ...violations.problems].filter(({ kind }) => kind !== "roster");
