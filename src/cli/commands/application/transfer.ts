/** Uploads and downloads the bytes of a recording, and resumes where the connection broke. */
import { constants } from "node:fs";
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { isOfOtherUser, isOtherUser } from "../../../base/private-file.ts";
import { isObject } from "../../../protocol/json.ts";
import { Failure, UsageError } from "../../line/errors.ts";
import { Progress } from "../../terminal/progress.ts";

/** Bytes per request: few enough to repeat them after a failure, enough to be fast. */
const PIECE_BYTES = 8 * 1024 * 1024;
/** Attempts in a row without progress. */
const ATTEMPTS_MAX = 6;
const FIRST_PAUSE_MS = 200;
/** A longer pause that a server or a proxy asks for is not waited for at once, but in several. */
const RETRY_AFTER_MAX_MS = 30_000;

/** Where a link leads. If the server is given as an IP address, only the Host header names the application. */
export interface Target {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Where the certificate is not checked (calls/address.ts). */
  readonly tls?: { readonly rejectUnauthorized: false };
}

interface Step {
  readonly offset: number;
  /** Bytes were stored, or the server has reported which bytes it has. */
  readonly hasProgress: boolean;
  /** The server asks to wait. */
  readonly retryAfterMs?: number;
}

export async function send(file: string, size: number, target: Target): Promise<void> {
  const progress = new Progress(size);
  try {
    let offset = await storedBytes(target, size);
    for (let attempts = 0; offset < size || size === 0; ) {
      progress.at(offset);
      const step = await sendPiece(file, size, offset, target);
      if (size === 0 && step.hasProgress) return;
      attempts = step.hasProgress ? 0 : attempts + 1;
      if (attempts === ATTEMPTS_MAX) throw lost("sent", step.offset, size);
      if (!step.hasProgress) await Bun.sleep(Math.max(FIRST_PAUSE_MS * 2 ** attempts, step.retryAfterMs ?? 0));
      offset = step.hasProgress ? step.offset : await storedBytes(target, size);
    }
    progress.at(size);
  } finally {
    progress.end();
  }
}

async function sendPiece(file: string, size: number, offset: number, target: Target): Promise<Step> {
  const end = Math.min(size, offset + PIECE_BYTES);
  const response = await put(target, Bun.file(file).slice(offset, end), {
    ...(size > 0 && { "Content-Range": `bytes ${offset}-${end - 1}/${size}` }),
  });
  if (!response) return { offset, hasProgress: false };
  const body = await objectIn(response);
  const known = typeof body.offset === "number" ? body.offset : undefined;
  // An earlier piece was stored although its response was lost.
  const isOutOfStep = response.status === 409 && known !== undefined && known !== offset;
  if ((response.ok || isOutOfStep) && known !== undefined) return { offset: known, hasProgress: true };
  if ([408, 423, 429].includes(response.status) || response.status >= 500) {
    if (response.status === 507) throw refusal(response, body);
    return { offset, hasProgress: false, retryAfterMs: retryAfterMs(response) };
  }
  throw refusal(response, body);
}

/** How many bytes the server has stored. Retried until it responds. */
async function storedBytes(target: Target, size: number): Promise<number> {
  for (let attempts = 1; ; attempts++) {
    const response = await put(target, undefined, { "Content-Range": `bytes */${size}` });
    const body = response && (await objectIn(response));
    if (response?.ok && typeof body?.offset === "number") return body.offset;
    if (response && body && response.status < 500 && response.status !== 429) throw refusal(response, body);
    if (attempts === ATTEMPTS_MAX) throw response && body ? refusal(response, body) : lost("sent", 0, size);
    await Bun.sleep(Math.max(FIRST_PAUSE_MS * 2 ** attempts, response ? retryAfterMs(response) : 0));
  }
}

const retryAfterMs = ({ headers }: Response): number =>
  Math.min(RETRY_AFTER_MAX_MS, 1000 * (Number(headers.get("Retry-After")) || 0));

/** Returns undefined if the connection broke. */
async function put(
  { url, headers, tls }: Target,
  body: Blob | undefined,
  more: Readonly<Record<string, string>>,
): Promise<Response | undefined> {
  try {
    return await fetch(url, {
      method: "PUT",
      headers: { ...headers, ...more },
      redirect: "manual",
      ...(tls && { tls }),
      ...(body && { body }),
    });
  } catch {
    return undefined;
  }
}

/** Downloads into `file.partial`, continuing where that ends, and renames it to `file` when it is complete. */
export async function receive(target: Target, file: string, size: number): Promise<void> {
  const partial = `${file}.partial`;
  if (isOfOtherUser(partial)) throw ofOtherUser(partial);
  const progress = new Progress(size);
  try {
    let offset = Math.min(await sizeOf(partial), size);
    for (let attempts = 0; ; ) {
      progress.at(offset);
      if (offset === size && size > 0) break;
      const before = offset;
      offset = await receiveRest(target, partial, offset, (at) => progress.at(at));
      if (offset === size) break;
      attempts = offset > before ? 0 : attempts + 1;
      if (attempts === ATTEMPTS_MAX) throw lost("received", offset, size);
      await Bun.sleep(FIRST_PAUSE_MS * 2 ** attempts);
    }
  } finally {
    progress.end();
  }
  await rename(partial, file);
}

/** Downloads until the connection ends or breaks; returns the new offset. */
async function receiveRest(
  { url, headers, tls }: Target,
  partial: string,
  offset: number,
  report: (at: number) => void,
): Promise<number> {
  const range: Record<string, string> = offset > 0 ? { Range: `bytes=${offset}-` } : {};
  const options = { headers: { ...headers, ...range }, redirect: "manual", ...(tls && { tls }) } as const;
  const response = await fetch(url, options).catch(() => undefined);
  if (!response) return offset;
  if (!response.ok) throw refusal(response, await objectIn(response));
  // A server without support for ranges sends the file from its start.
  let at = response.status === 206 ? offset : 0;
  const file = await openPartial(partial, at);
  try {
    for await (const chunk of response.body ?? []) {
      for (let done = 0; done < chunk.length; ) {
        const { bytesWritten } = await file.write(chunk, done, chunk.length - done, at);
        done += bytesWritten;
        at += bytesWritten;
      }
      report(at);
    }
  } catch (error) {
    if (isDiskError(error)) throw error;
  } finally {
    await file.close();
  }
  return at;
}

/** Never a file or through a link of another user, who could have made it after the first look. */
async function openPartial(partial: string, at: number): Promise<FileHandle> {
  if (at === 0) {
    await rm(partial, { force: true });
    return open(partial, "wx", 0o600);
  }
  const file = await open(partial, constants.O_WRONLY | constants.O_NOFOLLOW);
  if (!isOtherUser((await file.stat()).uid)) return file;
  await file.close();
  throw ofOtherUser(partial);
}

const ofOtherUser = (partial: string): UsageError =>
  new UsageError(
    `${partial} belongs to another user, who could read or change the download: remove it, or choose another file`,
  );

/** An error of the disk, not of the connection. */
const isDiskError = (error: unknown): boolean =>
  error instanceof Error && "syscall" in error && ["write", "ftruncate"].includes(String(error.syscall));

const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  );

async function objectIn(response: Response): Promise<Record<string, unknown>> {
  const value: unknown = await response.json().catch(() => undefined);
  return isObject(value) ? value : {};
}

function refusal(response: Response, body: Readonly<Record<string, unknown>>): Failure {
  const code = isObject(body.error) && typeof body.error.code === "string" ? body.error.code : "unexpected_answer";
  return new Failure(code, typeof body.message === "string" ? body.message : `the server answered ${response.status}`);
}

const lost = (what: string, offset: number, size: number): Failure =>
  new Failure(
    "unreachable",
    `the connection failed too often: ${offset} of ${size} bytes were ${what}; repeat the command to resume`,
  );
