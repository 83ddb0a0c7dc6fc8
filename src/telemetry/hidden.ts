/**
 * Takes credentials out of texts that others have written: errors of libraries and of the runtime quote addresses, and so their queries
 * and passwords. Our own texts name none.
 */

const HIDDEN = "(hidden)";

/** What follows the path of an address: tokens, keys, proofs and signatures are sent there. */
const QUERY = /(\b[a-z][a-z0-9+.-]*:\/\/[^\s"'`<>?#]*)[?#][^\s"'`<>]*/gi;
/** A user and a password before the host. */
const USER = /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s"'`<>/@]+@/gi;
/** Secrets that the service makes, by their beginnings; and signed tokens of all kinds. */
const MADE = /\b(sk_secret_|parley_admin_|op_)[\w-]{20,}/g;
const SIGNED = /\b(?:rt_|tk_)?eyJ[\w-]{10,}(?:\.[\w-]*)*/g;

export const withoutCredentials = (text: string): string =>
  text
    .replace(USER, `$1${HIDDEN}@`)
    .replace(QUERY, `$1?${HIDDEN}`)
    .replace(MADE, `$1${HIDDEN}`)
    .replace(SIGNED, HIDDEN);
