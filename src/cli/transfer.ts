/** The bytes of a recording to a server and from one, resumed where the connection broke. */
import { open, rename, stat } from "node:fs/promises";
import { isObject } from "../protocol/json.ts";
import { Failure } from "./errors.ts";
import { Progress } from "./progress.ts";

/** How much goes with one request: little enough to lose, enough to be fast. */
const PIECE_BYTES = 8 * 1024 * 1024;
/** Tries in a row that got nowhere. */
const TRIES = 6;
const FIRST_PAUSE_MS = 200;

/** A link as we reach it: where the server is named by a number, the host is told in the header alone. */
export interface Target {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Step {
  readonly offset: number;
  /** It got further, or at least was told something. */
  readonly moved: boolean;
}

export async function send(file: string, size: number, target: Target): Promise<void> {
  const progress = new Progress(size);
  try {
    let offset = await held(target, size);
    for (let tries = 0; offset < size || size === 0; ) {
      progress.at(offset);
      const step = await sendPiece(file, size, offset, target);
      if (size === 0 && step.moved) return;
      tries = step.moved ? 0 : tries + 1;
      if (tries === TRIES) throw lost("sent", step.offset, size);
      if (!step.moved) await Bun.sleep(FIRST_PAUSE_MS * 2 ** tries);
      offset = step.moved ? step.offset : await held(target, size);
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
  if (!response) return { offset, moved: false };
  const answer = await objectIn(response);
  const known = typeof answer.offset === "number" ? answer.offset : undefined;
  // An earlier piece had arrived although we never heard of it.
  const isBehind = response.status === 409 && known !== undefined && known !== offset;
  if ((response.ok || isBehind) && known !== undefined) return { offset: known, moved: true };
  if (response.status === 423 || response.status === 408 || response.status >= 500) {
    if (response.status === 507) throw refusal(response, answer);
    return { offset, moved: false };
  }
  throw refusal(response, answer);
}

/** How many bytes the server has; tried until it answers. */
async function held(target: Target, size: number): Promise<number> {
  for (let tries = 1; ; tries++) {
    const response = await put(target, undefined, { "Content-Range": `bytes */${size}` });
    const answer = response && (await objectIn(response));
    if (response?.ok && typeof answer?.offset === "number") return answer.offset;
    if (response && answer && response.status < 500) throw refusal(response, answer);
    if (tries === TRIES) throw lost("sent", 0, size);
    await Bun.sleep(FIRST_PAUSE_MS * 2 ** tries);
  }
}

/** undefined: the connection broke. */
async function put(
  { url, headers }: Target,
  body: Blob | undefined,
  more: Readonly<Record<string, string>>,
): Promise<Response | undefined> {
  try {
    return await fetch(url, {
      method: "PUT",
      headers: { ...headers, ...more },
      redirect: "manual",
      ...(body && { body }),
    });
  } catch {
    return undefined;
  }
}

/** Into `file`, by way of `file.partial`: from where that ends, if an earlier try left one. */
export async function receive(target: Target, file: string, size: number): Promise<void> {
  const partial = `${file}.partial`;
  const progress = new Progress(size);
  try {
    let offset = Math.min(await sizeOf(partial), size);
    for (let tries = 0; ; ) {
      progress.at(offset);
      if (offset === size && size > 0) break;
      const before = offset;
      offset = await receiveRest(target, partial, offset, (at) => progress.at(at));
      if (offset === size) break;
      tries = offset > before ? 0 : tries + 1;
      if (tries === TRIES) throw lost("received", offset, size);
      await Bun.sleep(FIRST_PAUSE_MS * 2 ** tries);
    }
  } finally {
    progress.end();
  }
  await rename(partial, file);
}

/** As far as the connection holds; how far that is. */
async function receiveRest(
  { url, headers }: Target,
  partial: string,
  offset: number,
  report: (at: number) => void,
): Promise<number> {
  const range: Record<string, string> = offset > 0 ? { Range: `bytes=${offset}-` } : {};
  const response = await fetch(url, { headers: { ...headers, ...range }, redirect: "manual" }).catch(() => undefined);
  if (!response) return offset;
  if (!response.ok) throw refusal(response, await objectIn(response));
  // A server that does not know of ranges begins anew.
  let at = response.status === 206 ? offset : 0;
  const file = await open(partial, at === 0 ? "w" : "r+", 0o600);
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
    if (isSystem(error)) throw error;
  } finally {
    await file.close();
  }
  return at;
}

/** The disk's word, not the connection's. */
const isSystem = (error: unknown): boolean =>
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

function refusal(response: Response, answer: Readonly<Record<string, unknown>>): Failure {
  const code =
    isObject(answer.error) && typeof answer.error.code === "string" ? answer.error.code : "unexpected_answer";
  return new Failure(code, typeof answer.message === "string" ? answer.message : `it was answered ${response.status}`);
}

const lost = (what: string, offset: number, size: number): Failure =>
  new Failure(
    "unreachable",
    `the connection broke too often: ${offset} of ${size} bytes were ${what}; the same command goes on from there`,
  );
