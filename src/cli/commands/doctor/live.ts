/** What does not work at the moment, for the lines of `parley doctor`: from the server's own checks, and from what doctor tried itself. */
import type { DirectEvidence } from "./direct.ts";
import { attention, type Finding, type Outcome, ok, serious, unchecked, type Verdict } from "./findings.ts";

export interface LiveEvidence {
  /** The checks in the node's own /readyz; undefined: it did not answer. */
  readonly health: Readonly<Record<string, string>> | undefined;
  readonly direct: DirectEvidence;
}

interface LiveCheck {
  /** Names of checks in /readyz. */
  readonly names: readonly string[];
  readonly report: (found: string, todo: string) => Outcome;
  readonly todo: string;
  readonly direct?: keyof DirectEvidence;
}

const LIVE: Readonly<Record<string, LiveCheck>> = {
  TLS: {
    names: ["certificate"],
    report: serious,
    todo: "renew the files of PARLEY_TLS_CERT and PARLEY_TLS_KEY, then send SIGHUP to the server",
  },
  database: {
    names: ["store", "writes"],
    report: serious,
    todo: "start PostgreSQL, make it writable, or free disk space: the node then recovers by itself. Its log has the cause",
    direct: "database",
  },
  NATS: {
    names: ["nats", "versions"],
    report: serious,
    todo: "start NATS: the nodes reconnect by themselves. If its address has changed, set PARLEY_NATS_URL and restart. Nodes that cannot understand each other run different versions: upgrade all of them to the same one",
    direct: "nats",
  },
  "recordings storage": {
    names: ["recordings"],
    report: serious,
    todo: "mount it, free space, or correct its permissions; the log has the cause (recordings cannot be stored)",
    direct: "storage",
  },
  mending: {
    names: ["mending"],
    report: attention,
    todo: "the log has the cause (recordings cannot be mended, a recording could not be mended, a finished upload could not be listed)",
  },
  history: {
    names: ["history"],
    report: serious,
    todo: "free disk space, or start PostgreSQL; the log has the cause (messages of channels with history cannot be stored)",
  },
  backup: {
    names: ["backups"],
    report: attention,
    todo: 'the log has the cause (a backup failed), and "parley backups list" too; try again with "parley backups start"',
  },
  "open files": {
    names: ["files"],
    report: serious,
    todo: "raise the limit: ulimit -n, LimitNOFILE of systemd, ulimits of compose",
  },
};

const WORST_FIRST: readonly Verdict[] = ["serious", "attention", "unchecked", "ok"];

/** The finding about the settings, unless what happens at the moment is at least as bad. */
export function withLive(finding: Finding, evidence: LiveEvidence): Finding {
  const outcome = liveOutcome(finding.check, evidence);
  if (!outcome || WORST_FIRST.indexOf(outcome.verdict) > WORST_FIRST.indexOf(finding.verdict)) return finding;
  return { check: finding.check, ...outcome };
}

/** undefined: nothing is known to be wrong. */
export function liveOutcome(check: string, { health, direct }: LiveEvidence): Outcome | undefined {
  const live = LIVE[check];
  if (!live) return undefined;
  const texts = live.names.flatMap((name) => health?.[name] ?? []).filter((text) => text !== "ok");
  const tried = live.direct && direct[live.direct];
  const [text] = texts;
  if (text !== undefined) return live.report(`${text}${fromHere(tried)}`, live.todo);
  if (tried === undefined || tried === "ok") return undefined;
  if (!health) return live.report(`this machine cannot use it: ${tried}`, live.todo);
  return attention(
    `the node reaches it, but doctor cannot, with the settings of its own environment: ${tried}`,
    'compare these settings with the server\'s: "parley config"',
  );
}

const fromHere = (tried: string | undefined): string =>
  tried === undefined ? "" : tried === "ok" ? ". From this machine it answers" : `. From this machine: ${tried}`;

/** A check that has only a live state. */
export const liveOnly =
  (name: string, fine: string) =>
  ({ health }: LiveEvidence): Outcome => {
    if (!health) return unchecked("/readyz does not answer", "pass the node's address with --url");
    if (health[name] === undefined) return unchecked("this server is too old for this check", "update it");
    return ok(fine);
  };
