/** Control plane: backups. They are made here, kept in the place of the settings, and sent to operators of role admin. */
import { z } from "zod";
import type { Operator } from "../../access/operators/operator.ts";
import { BackupRunning } from "../../durable/backup/backups.ts";
import type { RunningBackup } from "../../durable/backup/run.ts";
import { type BackupService, NoBackupPlace, NoSuchBackup } from "../../durable/schedule/service.ts";
import { TargetError } from "../../durable/targets/target.ts";
import { Problem } from "../../protocol/codes.ts";
import { BACKUP_DOWNLOADS_MAX, BACKUP_PAUSE_MAX_MS } from "../limits.ts";
import { FileDownloads } from "../response/file-downloads.ts";
import type { LogIncomplete } from "../response/streamed-array.ts";
import { type Endpoint, endpoint, type Guard } from "../server/endpoint.ts";
import type { Audit } from "../shared/audit.ts";
import { toSeconds, unixSeconds } from "../shared/schemas.ts";
import { adminState, type BackupSettings, backupState, commonState, keptBackup, keptFields } from "./backup-state.ts";

interface BackupEndpointParts {
  readonly service: BackupService;
  readonly settings: BackupSettings;
  readonly audit: Audit;
  readonly nowMs: () => number;
  readonly logIncomplete: LogIncomplete;
}

export interface BackupGuards {
  readonly admin: Guard<Operator>;
  /** Every operator, at the rate of lists. */
  readonly lists: Guard<Operator>;
  /** For what a browser loads without our own headers. */
  readonly stream: Guard<Operator>;
}

const STREAMS_MAX = 1;
const TAG = "backups";
const ROOT = "/api/internal/v1/backups";
const ONE = `${ROOT}/:name`;

/** How many bytes the body has. */
const BYTES_HEADER = "X-Parley-Bytes";

const FILE = {
  response: () => z.unknown().meta({ type: "string", format: "binary" }),
  responseType: "application/octet-stream",
} as const;

export function backupEndpoints(guards: BackupGuards, parts: BackupEndpointParts): Endpoint[] {
  return [stateOf(guards, parts), startOf(guards, parts), streamOf(guards, parts), ...oneOf(guards, parts)];
}

const stateOf = ({ lists }: BackupGuards, { service, settings }: BackupEndpointParts): Endpoint =>
  endpoint({
    tag: TAG,
    guard: lists,
    scope: "service",
    method: "GET",
    path: ROOT,
    summary: "Backups: the schedule, whether they succeed, and (role admin only) where they are and which are kept",
    response: backupState,
    handle: async (_call, { caller }) => {
      const common = await commonState(service, settings);
      return caller.role === "admin" ? adminState(service, common) : common;
    },
  });

const startOf = ({ admin }: BackupGuards, { service, audit }: BackupEndpointParts): Endpoint =>
  endpoint({
    tag: TAG,
    guard: admin,
    scope: "service",
    method: "POST",
    path: ROOT,
    summary: "Start a backup to the place of PARLEY_BACKUP_TO; GET shows its progress and what became of it",
    response: () => z.object({ started: unixSeconds(), place: z.string() }).meta({ id: "StartedBackup" }),
    problems: ["conflict"],
    handle: async (call, { caller }) => {
      const startedMs = await inControlPlane(service.start());
      const place = service.target?.place.shown ?? "";
      await audit(call, caller, { what: "backup started", on: place });
      return { started: toSeconds(startedMs), place };
    },
  });

/** A backup as it is made, for the command line. */
function streamOf({ admin }: BackupGuards, { service, audit, logIncomplete }: BackupEndpointParts): Endpoint {
  const downloads = new FileDownloads(STREAMS_MAX, { pauseMaxMs: BACKUP_PAUSE_MAX_MS });
  return endpoint({
    tag: TAG,
    guard: admin,
    scope: "service",
    method: "POST",
    path: `${ROOT}/stream`,
    summary: "Make a backup and send it as it is made; secrets in it are sealed, and the master key is not in it",
    query: () =>
      z.object({
        recordings: z.enum(["copied", "referenced"]).default("copied").describe("referenced: without their files"),
      }),
    ...FILE,
    problems: ["conflict"],
    handle: async (call, { caller, query, recheck }) => {
      // The first bytes come when the stores are copied and checked.
      call.allowPauses();
      const running = await inControlPlane(service.stream(query.recordings === "copied"));
      const body = await downloads
        .begin({
          pieces: wholeOf(running),
          check: recheck,
          until: caller.revoked,
          logIncomplete: (error) => logIncomplete(call, error),
        })
        .catch((error: unknown) => {
          running.stop();
          throw error;
        });
      await audit(call, caller, { what: "backup downloaded", on: "everything", after: query });
      call.allowPauses();
      return new Response(body, {
        headers: { "Content-Type": "application/octet-stream", "Cache-Control": "private, no-store" },
      });
    },
  });
}

/** One that is kept. */
function oneOf({ admin, stream }: BackupGuards, parts: BackupEndpointParts): Endpoint[] {
  const { service, audit, nowMs, logIncomplete } = parts;
  const downloads = new FileDownloads(BACKUP_DOWNLOADS_MAX, { pauseMaxMs: BACKUP_PAUSE_MAX_MS });
  return [
    endpoint({
      tag: TAG,
      guard: stream,
      scope: "service",
      method: "GET",
      path: ONE,
      summary: "Download a backup; role admin only",
      ...FILE,
      problems: ["forbidden", "not_found", "internal_error"],
      handle: async (call, { caller, recheck }) => {
        const check = (operator: Operator): void => {
          if (operator.role !== "admin") throw new Problem("forbidden");
        };
        check(caller);
        const found = await inControlPlane(service.found(call.params.name ?? ""));
        const headers = {
          "Content-Type": "application/octet-stream",
          "Content-Disposition": `attachment; filename="${found.name}"`,
          // Bun sends a stream in chunks, without a Content-Length. A client sees from the missing last chunk that it was cut.
          [BYTES_HEADER]: String(found.bytes),
          "X-Content-Type-Options": "nosniff",
          "Cache-Control": "private, no-store",
        };
        // The runtime would not read the body, and its place would stay taken.
        if (call.request.method === "HEAD") return new Response(null, { headers });
        const body = await inControlPlane(
          downloads.begin({
            pieces: service.read(found),
            check: () => check(recheck()),
            until: caller.revoked,
            logIncomplete: (error) => logIncomplete(call, error),
          }),
        );
        await audit(call, caller, { what: "backup downloaded", on: found.name, after: { bytes: found.bytes } });
        call.allowPauses();
        return new Response(body, { headers });
      },
    }),
    endpoint({
      tag: TAG,
      guard: admin,
      scope: "service",
      method: "DELETE",
      path: ONE,
      summary: "Delete a backup",
      response: () => keptBackup().extend({ deleted: unixSeconds() }).meta({ id: "DeletedBackup" }),
      problems: ["not_found", "internal_error"],
      handle: async (call, { caller }) => {
        const found = await inControlPlane(service.found(call.params.name ?? ""));
        await inControlPlane(service.remove(found));
        await audit(call, caller, { what: "backup deleted", on: found.name, before: { bytes: found.bytes } });
        return { ...keptFields(found), deleted: toSeconds(nowMs()) };
      },
    }),
  ];
}

async function inControlPlane<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw problemOf(error) ?? error;
  }
}

function problemOf(error: unknown): Problem | undefined {
  if (error instanceof BackupRunning)
    return new Problem("conflict", "A backup is being made already. Wait until it is done.");
  if (error instanceof NoBackupPlace)
    return new Problem(
      "conflict",
      "There is no place for backups: set PARLEY_BACKUP_TO to a folder or a bucket, and restart the service.",
    );
  if (error instanceof NoSuchBackup) return new Problem("not_found", "There is no such backup.");
  // For operators of role admin, who may see the place.
  if (error instanceof TargetError)
    return new Problem("internal_error", `Backups cannot be reached: ${error.message}.`);
  return undefined;
}

/** The bytes to their end, and an error if the backup is not complete then: the response is cut instead of looking whole. */
async function* wholeOf(running: RunningBackup): AsyncGenerator<Uint8Array, undefined> {
  // Read below.
  running.done.catch(() => undefined);
  try {
    yield* running.bytes;
    await running.done;
  } finally {
    running.stop();
  }
}
