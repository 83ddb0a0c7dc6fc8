/** Mistakes in the options of a client. They are errors at once, before anything is sent, and say what to give instead. */
import type { ConnectionOptions } from "./options.ts";

// Not only by `new URL`, for which localhost: is the scheme of "localhost:8080".
const ADDRESS = /^(http|ws)s?:\/\/[^/?#\s]+[^?#\s]*$/i;
/** A whole secret key, or either half of one. */
const SECRET = /(^|[\s:])sk_/;

/** None of the values is in the messages: a secret key may be in the wrong place. */
export function checkOptions({ url, key, token }: Partial<ConnectionOptions> = {}): void {
  if (!ADDRESS.test(`${url}`) || !URL.canParse(`${url}`))
    throw new TypeError(
      'parley: `url` must have a scheme and a host, such as "https://parley.example.com" or "http://localhost:8080"',
    );
  const isKey = typeof key === "string" && key !== "" && token === undefined;
  if (!isKey && !(key === undefined && typeof token === "function"))
    throw new TypeError("parley: give either `key`, a publishable key, or `token`, a function that gets a token");
  if (key) checkSecret(key, "`key` is");
  if (key && /…|\.\.\./.test(key))
    throw new TypeError("parley: `key` is shortened (…), as in an example: use the whole publishable key");
}

/** Everyone who can see the page could read it, and do everything with it. */
export function checkSecret(text: string, what: string): void {
  if (SECRET.test(text))
    throw new TypeError(
      `parley: ${what} a secret key, which gives full access and must stay on your backend. Use a publishable key (pk_…), or a \`token\` function that gets a token from your backend.`,
    );
}
