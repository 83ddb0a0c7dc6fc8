/** A call that a reader makes from the page: only to the service's own origin, without cookies, with a credential that is nowhere but in memory. */
import type { Credential } from "./examples.ts";

export interface Request {
  readonly method: string;
  /** With its parameters in it, and the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly credential?: { readonly kind: Credential; readonly secret: string };
  readonly body?: string;
}

/** What is shown in place of a secret, whatever its length. */
const MASK = "••••••••";
const SHOWN_MAX_CHARS = 100_000;

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** The same call for a shell, without the secret. */
export function maskedCurl({ method, path, headers, credential, body }: Request): string {
  const lines = [`curl -X ${method.toUpperCase()} ${quoted(location.origin + path)}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`  -H ${quoted(`${name}: ${value}`)}`);
  if (credential?.secret) lines.push(`  -H ${quoted(`${credential.kind.header}: ${credential.kind.before}${MASK}`)}`);
  if (body !== undefined) lines.push(`  -d ${quoted(body)}`);
  return lines.join(" \\\n");
}

export interface Answer {
  readonly status: string;
  readonly isGood: boolean;
  readonly tookMs: number;
  readonly type: string;
}

/** `show` gets the text as far as it has arrived: a stream of events never ends by itself. */
export async function send(request: Request, signal: AbortSignal, show: (text: string) => void): Promise<Answer> {
  const { method, path, credential, body } = request;
  const headers = new Headers(request.headers);
  if (credential?.secret) headers.set(credential.kind.header, credential.kind.before + credential.secret);
  const startedAt = performance.now();
  const response = await fetch(location.origin + path, {
    method: method.toUpperCase(),
    headers,
    signal,
    ...(body !== undefined && { body }),
    credentials: "omit",
    cache: "no-store",
    referrerPolicy: "no-referrer",
    // To another origin, a credential must not follow.
    redirect: "manual",
  });
  const tookMs = performance.now() - startedAt;
  const type = response.headers.get("content-type")?.split(";")[0] ?? "";
  const status =
    response.type === "opaqueredirect" ? "Redirects elsewhere" : `${response.status} ${response.statusText}`.trim();
  const answer = { status, isGood: response.ok, tookMs, type };
  if (type !== "" && !/json|^text\//.test(type)) {
    await response.body?.cancel();
    show("(not text)");
  } else await readText(response, type, show, signal);
  return answer;
}

async function readText(
  response: Response,
  type: string,
  show: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const isStream = type === "text/event-stream";
  try {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) break;
      text += value;
      if (text.length > SHOWN_MAX_CHARS) {
        await reader?.cancel();
        return show(`${text.slice(0, SHOWN_MAX_CHARS)}\n… (the rest is not shown)`);
      }
      if (isStream) show(text);
    }
  } catch (error) {
    // A stream that the reader stopped has been shown.
    if (!(isStream && signal.aborted)) throw error;
  }
  show(type.endsWith("json") ? indented(text) : text || "(empty)");
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
