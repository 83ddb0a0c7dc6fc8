/** Checks that a node answers from memory. Each worker reports its own to the others, because any of them may be asked. */
import { Repeating } from "../../base/repeating.ts";
import { type CertificateState, expiresOn } from "../../http/server/certificate.ts";
import { type CheckResult, OK } from "../../http/server/operations.ts";
import type { MendingsState } from "../parts/recordings.ts";
import type { Team } from "../parts/team.ts";

/** Beyond this share of the limit, new connections are about to be refused (file-reserve.ts); with a low limit they are before. */
const OPEN_FILES_SHARE_MAX = 0.9;
const REPORT_EVERY_MS = 500;

export interface OwnCheckParts {
  /** undefined: the node has no NATS. */
  readonly isNatsUp: (() => boolean) | undefined;
  /** Workers of this machine that this one does not hear. undefined: it is alone, or NATS is between them. */
  readonly unheardWorkers: (() => number) | undefined;
  /** Other nodes that this one hears and cannot understand, as clauses. undefined: it is alone. */
  readonly notUnderstood: (() => readonly string[]) | undefined;
  readonly isHistoryUp: () => boolean;
  /** What became of the last recordings, in the worker that mends them. */
  readonly mendings: () => MendingsState;
  /** undefined: the node does not serve TLS. */
  readonly certificate: () => CertificateState | undefined;
  readonly openFiles: () => number;
  readonly openFilesLimit: number;
  /** Connects are refused, because files run out. */
  readonly isFull: () => boolean;
  readonly nowMs: () => number;
}

export type OwnChecks = () => Readonly<Record<string, CheckResult>> & { readonly mending: CheckResult };

export const failing = (text: string): CheckResult => ({ state: "failing", text });
export const degraded = (text: string): CheckResult => ({ state: "degraded", text });

const NATS_DOWN = degraded("NATS is unreachable: this node and the others cannot reach each other");
const WORKERS_APART = degraded("workers cannot reach each other: their clients miss each other's messages");
const HISTORY_DOWN = degraded("the history store is not responding: channels with history refuse messages");

const AS_THEY_CAME = "they are listed unchanged, and players may not be able to seek in them";
const MENDINGS: Readonly<Record<MendingsState, CheckResult>> = {
  ok: OK,
  failing: degraded(`the last recordings could not be mended: ${AS_THEY_CAME}`),
  waiting: degraded("finished recordings could not be listed yet; trying again"),
};
export const MENDING_BROKEN = degraded(`recordings cannot be mended: ${AS_THEY_CAME}`);

export const ownChecks =
  (parts: OwnCheckParts): OwnChecks =>
  () => {
    const { isNatsUp, unheardWorkers, notUnderstood, isHistoryUp, mendings, nowMs } = parts;
    const served = parts.certificate();
    return {
      ...(isNatsUp && { nats: isNatsUp() ? OK : NATS_DOWN }),
      ...(unheardWorkers && { bus: unheardWorkers() === 0 ? OK : WORKERS_APART }),
      ...(notUnderstood && { versions: versionsCheck(notUnderstood()) }),
      history: isHistoryUp() ? OK : HISTORY_DOWN,
      mending: MENDINGS[mendings()],
      ...(served && { certificate: certificateCheck(served, nowMs()) }),
      files: filesCheck(parts),
    };
  };

/** Tells the other workers what does not work in this one, whenever that has changed. */
export function reportTo(team: Pick<Team, "report">, checks: OwnChecks, failed: (error: unknown) => void): Repeating {
  let reported = "{}";
  const report = (): void => {
    const texts = Object.entries(checks()).flatMap(([name, one]) => (one.state === "ok" ? [] : [[name, one.text]]));
    const found = Object.fromEntries(texts);
    const text = JSON.stringify(found);
    if (text !== reported) team.report(found);
    reported = text;
  };
  return new Repeating(REPORT_EVERY_MS, report, failed);
}

/** Names of nodes are no addresses, and operators need them. */
function versionsCheck(others: readonly string[]): CheckResult {
  if (others.length === 0) return OK;
  const [first, more] = [others[0], others.length - 1];
  return degraded(
    `${first}${more > 0 ? ` and ${more} more` : ""} cannot be understood, so clients there and here cannot reach each other: run the same version on all nodes`,
  );
}

function certificateCheck(certificate: CertificateState, nowMs: number): CheckResult {
  const { startsMs, expiresMs, isReloadFailed } = certificate;
  if (nowMs >= expiresMs) return degraded(`the TLS certificate expired on ${expiresOn(certificate)}`);
  if (nowMs < startsMs) return degraded("the TLS certificate is not valid yet; is this machine's clock right?");
  if (isReloadFailed)
    return degraded(`a new TLS certificate could not be loaded: the old one is used, until ${expiresOn(certificate)}`);
  return OK;
}

function filesCheck({ openFiles, openFilesLimit: limit, isFull }: OwnCheckParts): CheckResult {
  const open = openFiles();
  const counted = `${Math.min(open, limit)} of ${limit} files are open`;
  if (isFull()) return degraded(`${counted}, so new connections are refused: each uses one, and some are reserved`);
  return open <= limit * OPEN_FILES_SHARE_MAX ? OK : degraded(`${counted}, and each connection uses one`);
}
