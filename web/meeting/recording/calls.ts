/** The calls of the uploads, and what their answers mean. */
import type { Failure } from "./contract.ts";
import type { RunNotes } from "./run-notes.ts";

export interface Answer {
  /** 0: there was none. */
  readonly status: number;
  readonly code: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** The service asks to wait that long (Retry-After). */
  readonly retryAfterMs?: number;
}

export type Send = (url: string, init: RequestInit) => Promise<Answer>;

/**
 * A part, which has at most 4 MiB, takes a minute at most; after that it is tried again. A call without one has nothing to carry: if its answer does
 * not come, as from a node that is gone, the parts behind it must not wait for a minute.
 */
export const answerWithinMs = ({ body }: RequestInit): number => (body instanceof Uint8Array ? 60_000 : 15_000);

export const send: Send = async (url, init) => {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(answerWithinMs(init)) });
    const body = (await response.json().catch(() => ({}))) as Answer["body"];
    const error = body.error as { readonly code?: unknown } | undefined;
    return {
      status: response.status,
      code: typeof error?.code === "string" ? error.code : "",
      body,
      ...retryAfter(response.headers.get("Retry-After")),
    };
  } catch {
    return { status: 0, code: "unreachable", body: {} };
  }
};

/** A proxy may ask for an hour; the parts that wait here would fill the disk. */
const RETRY_AFTER_MAX_SECONDS = 60;

/** In seconds; a date, or nonsense, is not followed: the usual pause is. */
function retryAfter(header: string | null): Pick<Answer, "retryAfterMs"> {
  const seconds = /^\d{1,9}$/.test(header ?? "") ? Number(header) : 0;
  return seconds > 0 ? { retryAfterMs: Math.min(seconds, RETRY_AFTER_MAX_SECONDS) * 1000 } : {};
}

/** What to do about an answer that is not 200. `later`: the same once more, after a while. */
export type Verdict = "later" | "complete" | { readonly offset: number } | { readonly failed: Failure };

export function verdictOn({ status, code, body }: Answer): Verdict {
  // A budget stays used up. A disk that is full, or a volume that is unavailable, is put right by an operator: until then parts wait here.
  if (status === 507 && typeof body.budget === "string") return { failed: "storage_full" };
  if (status === 413) return { failed: "too_large" };
  if (status === 0 || status === 408 || status === 423 || status === 425 || status === 429 || status >= 500)
    return "later";
  if (status !== 409) return { failed: "refused" };
  // Before the offset, which that answer has too: sending on from there would be refused in the same way, again and again.
  if (code === "upload_complete") return "complete";
  if (typeof body.offset === "number") return { offset: body.offset };
  // Those of an earlier page are being finished.
  return code === "too_many_uploads" || code === "upload_busy" ? "later" : { failed: "refused" };
}

const recordingOf = (origin: string, roomName: string): string =>
  `${origin}/api/v1/room/${encodeURIComponent(roomName)}/recording`;

const withToken = (token: string, method: string, body: object): RequestInit => ({
  method,
  headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
  body: JSON.stringify(body),
});

/** What a recording has beside its file. */
export type Beside =
  | { readonly what: "thumbnail"; readonly body: Uint8Array<ArrayBuffer> }
  /** As JSON. */
  | { readonly what: "speech"; readonly body: string };

export interface RunCalls {
  begin(token: string, startedMsAgo: number): Promise<Answer>;
  /** Resolves to how many bytes the service holds. */
  ask(url: string): Promise<Answer>;
  put(url: string, bytes: Uint8Array<ArrayBuffer>, first: number): Promise<Answer>;
  /** What goes beside the bytes. */
  putBeside(url: string, beside: Beside): Promise<Answer>;
  /** The queue is empty: the service completes the recording. */
  finish(token: string, id: string): Promise<Answer>;
}

export function callsOf(origin: string, { roomName, source }: RunNotes, sent: Send): RunCalls {
  const url = recordingOf(origin, roomName);
  const put = (to: string, range: string, body?: Uint8Array<ArrayBuffer>): Promise<Answer> =>
    sent(to, { method: "PUT", headers: { "Content-Range": `bytes ${range}/*` }, ...(body && { body }) });
  return {
    begin: (token, startedMsAgo) => sent(url, withToken(token, "POST", { source, startedMsAgo })),
    ask: (to) => put(to, "*"),
    put: (to, bytes, first) => put(to, `${first}-${first + bytes.length - 1}`, bytes),
    putBeside: (to, { what, body }) =>
      sent(to.replace("?", `/${what}?`), {
        method: "PUT",
        headers: { "Content-Type": what === "thumbnail" ? "image/jpeg" : "application/json" },
        body,
      }),
    finish: (token, id) => sent(url, withToken(token, "DELETE", { _id: id })),
  };
}
