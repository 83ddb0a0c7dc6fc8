/**
 * What a client with an unknown credential has offered, as operators are shown it: two mistakes must not look like one. Only ids of keys are
 * shown, and of these the beginning; of everything that could be a secret, its kind and length.
 */

const KEY_ID = /^(?:pk_live|sk_id)_[0-9a-f]{32}$/;
const SHOWN_DIGITS = 8;

/** Neither a key nor a token, or both. */
export const NO_CREDENTIAL = "not one key or token";

/** In place of the id of a publishable key. */
export const offeredKey = (text: string): string => idOf(text) ?? `${kindOf(text)}, ${lengthOf(text)}`;

/** In place of a token. `kid`: what it says of its key. */
export function offeredToken(text: string, kid?: unknown): string {
  const id = typeof kid === "string" ? idOf(kid) : undefined;
  if (id !== undefined) return `token of ${id}`;
  return text.split(".", 4).length === 3 ? `token, ${lengthOf(text)}` : offeredKey(text);
}

function idOf(text: string): string | undefined {
  return KEY_ID.test(text) ? `${text.slice(0, text.lastIndexOf("_") + 1 + SHOWN_DIGITS)}…` : undefined;
}

function kindOf(text: string): string {
  if (text.includes("sk_secret_")) return "secret of a key";
  if (text.startsWith("pk_live_")) return "malformed pk_live_…";
  if (text.startsWith("sk_id_")) return "malformed sk_id_…";
  if (/^(?:parley_admin|op)_/.test(text)) return "operator's token";
  return text.split(".", 4).length === 3 ? "token" : "text";
}

const lengthOf = (text: string): string => (text.length === 1 ? "1 character" : `${text.length} characters`);
