/**
 * No server that a test starts may write a credential to its log, or list one. Credentials are known by their form (credential-forms.ts), or because this process
 * has set them or was answered with them. Each log is searched once, when its server has ended: one pass, whatever the number of credentials.
 */
import { CREDENTIAL_FORMS } from "./credential-forms.ts";

/** What is compared of a credential: its first and its last characters, so that one that was cut is found too. */
const PIECE_CHARS = 12;
const MIN_CHARS = 20;
/** The longest run of such characters stands for a credential; a log is read run by run. */
const RUN = /[\w-]{12,}/g;
/** Bound: some suites are answered with a million tokens. Those have a form, and are found by it. */
const SEEN_MAX = 100_000;
/** Lists can be long, and have no credentials. */
const ANSWER_MAX_CHARS = 16_384;

/** Fields of answers, and the kinds of what they hold. */
const FIELDS: Readonly<Record<string, string>> = {
  secretKey: "application secret",
  secret: "secret key",
  ticket: "lobby ticket",
  password: "TURN credential",
  credential: "TURN credential",
};
const FIELD = new RegExp(`"(${Object.keys(FIELDS).join("|")})":"([^"\\\\\\s]{${MIN_CHARS},})"`, "g");
const COOKIE = /^(?:__Host-)?parley=([\w-]{48})/;

/** Settings that are credentials, or addresses with one. */
const SETTINGS: Readonly<Record<string, string>> = {
  PARLEY_ADMIN_TOKEN: "admin token",
  PARLEY_MASTER_KEY: "master key",
  PARLEY_BACKUP_KEY: "backup key",
  PARLEY_TURN_SECRET: "TURN secret",
};
const URL_SETTINGS: Readonly<Record<string, string>> = {
  PARLEY_DATABASE_URL: "database password",
  PARLEY_NATS_URL: "NATS credential",
  PARLEY_STORAGE_URL: "bucket key",
  PARLEY_BACKUP_TO: "bucket key",
};
const PASSWORD = /\/\/[^/@\s]*:([^/@\s]+)@/;

/** Kinds by the pieces of each credential. */
const seen = new Map<string, string>();
const found = new Set<string>();

export function remember(kind: string, value: string): void {
  const runs = value.replace(/^(sk_secret|parley_admin|op|whsec)_/, "").match(RUN) ?? [];
  const longest = runs.toSorted((one, other) => other.length - one.length)[0];
  if (value.length < MIN_CHARS || longest === undefined || seen.size >= SEEN_MAX) return;
  seen.set(longest.slice(0, PIECE_CHARS), kind);
  seen.set(longest.slice(-PIECE_CHARS), kind);
}

/** What a server is started with. */
export function rememberSettings(env: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(env)) {
    if (SETTINGS[name]) remember(SETTINGS[name], value);
    const password = URL_SETTINGS[name] && PASSWORD.exec(value)?.[1];
    if (password) remember(URL_SETTINGS[name] ?? "", decodeURIComponent(password));
  }
}

/** What a server has answered. */
export function rememberAnswer(text: string, headers: Headers): void {
  const cookie = COOKIE.exec(headers.get("set-cookie") ?? "")?.[1];
  if (cookie) remember("dashboard session", cookie);
  if (text.length > ANSWER_MAX_CHARS) return;
  for (const [, field = "", value = ""] of text.matchAll(FIELD))
    remember(value.startsWith("whsec_") ? "webhook secret" : (FIELDS[field] ?? field), value);
}

/** The kinds of credentials that a text has; never the credentials themselves. */
export function credentialsIn(text: string): string[] {
  const kinds = new Set<string>();
  for (const [name, form] of Object.entries(CREDENTIAL_FORMS)) if (form.test(text)) kinds.add(name);
  for (const [run] of text.matchAll(RUN)) {
    const kind = seen.get(run.slice(0, PIECE_CHARS)) ?? seen.get(run.slice(-PIECE_CHARS));
    if (kind !== undefined) kinds.add(kind);
  }
  return [...kinds];
}

/** Answers to GET whose purpose is to show a credential: a secret key, a link, ICE servers. */
const SHOWS_ONE = /\/(secret-key|webhook-secrets|view|download|turn\/credentials)(\?|$)/;

/** To be called with what a server has answered: what is read shows none. */
export function refuseListed(method: string, path: string, text: string): void {
  if (method !== "GET" || text.length > ANSWER_MAX_CHARS || SHOWS_ONE.test(path)) return;
  const kinds = credentialsIn(text);
  if (kinds.length > 0) throw new Error(`GET ${path.split("?")[0]} shows credentials: ${kinds.join(", ")}`);
}

/** To be called with the log of a server that has ended. */
export function searchLog(log: string): void {
  for (const kind of credentialsIn(log)) found.add(kind);
}

/** Throws if a log had one, once. */
export function refuseLeaks(): void {
  if (found.size === 0) return;
  const kinds = [...found].join(", ");
  found.clear();
  throw new Error(`the log of a server shows credentials: ${kinds}`);
}
