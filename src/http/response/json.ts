/** JSON bodies. Each ends with a newline: in a terminal, the prompt after curl would otherwise stand behind the last brace. */

/** As `Response.json` writes it. */
const JSON_TYPE = "application/json;charset=utf-8";

interface JsonInit {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export const jsonResponse = (value: object, init?: JsonInit): Response =>
  jsonTextResponse(`${JSON.stringify(value)}\n`, init);

/** `body` is JSON with its newline already: one that is put together from texts, or sent in pieces. */
export const jsonTextResponse = (body: string | ReadableStream, { status = 200, headers }: JsonInit = {}): Response =>
  new Response(body, { status, headers: { "Content-Type": JSON_TYPE, ...headers } });
