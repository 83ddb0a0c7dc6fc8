/** How the values of settings are read from text. */
import { existsSync } from "node:fs";
import { ADMIN_TOKEN_MIN_CHARS, MASTER_KEY_BYTES, TURN_SECRET_MIN_CHARS, TURN_URLS_MAX } from "../access/limits.ts";
import { type Cidr, parseCidr } from "../base/address.ts";
import { DURATION_FORMS, durationIn } from "../base/duration.ts";
import { type Allow, parseAllow } from "../net/allow.ts";

/** Parses one value. A string as the result says what is allowed instead; a problem completes a sentence that begins with the setting's name. */
export type Read<T> = (text: string) => { value: T } | { problem: string } | string;

export const integer =
  (min: number, max: number): Read<number> =>
  (text) =>
    /^-?\d+$/.test(text) && Number(text) >= min && Number(text) <= max
      ? { value: Number(text) }
      : `a whole number from ${min} to ${max}`;

/** A number of that unit, or a time such as 90s that is a whole number of them. */
export const durationOf =
  (unit: "s" | "ms", min: number, max: number): Read<number> =>
  (text) => {
    const value = durationIn(text, unit);
    const named = { s: "seconds", ms: "milliseconds" }[unit];
    return value !== undefined && value >= min && value <= max
      ? { value }
      : `a whole number of ${named} from ${min} to ${max}, or a time such as ${unit === "s" ? DURATION_FORMS : "20ms or 1s"}`;
  };

/** Bound: every worker has a socket to every other one. */
export const WORKERS_MAX = 64;

export const workers: Read<number | "auto"> = (text) =>
  text === "auto"
    ? { value: "auto" }
    : typeof integer(1, WORKERS_MAX)(text) === "string"
      ? `a whole number from 1 to ${WORKERS_MAX}, or auto`
      : { value: Number(text) };

export const oneOf =
  <T extends string>(...choices: T[]): Read<T> =>
  (text) => {
    const found = choices.find((choice) => choice === text);
    return found === undefined ? `one of ${choices.join(", ")}` : { value: found };
  };

export const onOff: Read<boolean> = (text) => {
  if (["on", "true", "1", "yes"].includes(text)) return { value: true };
  if (["off", "false", "0", "no"].includes(text)) return { value: false };
  return "on or off";
};

export const matching =
  (form: RegExp, allowed: string): Read<string> =>
  (text) =>
    form.test(text) ? { value: text } : allowed;

export const anyText = matching(/^[\s\S]+$/, "some text");

export const file: Read<string> = (text) => (existsSync(text) ? { value: text } : "the path of a file that exists");

/** Credentials that this service makes, and that must not become the admin token: their holders may do less. */
const OTHER_CREDENTIALS: readonly (readonly [RegExp, string])[] = [
  [/^op_/, "an operator's token (op_…): commands take it as PARLEY_OPERATOR_TOKEN"],
  [/^sk_(id|secret)_/, "a secret key (sk_…): commands take it as PARLEY_KEY"],
  [/^pk_live_/, "a publishable key (pk_live_…): commands take it as PARLEY_KEY"],
  [/^tk_/, "an API key for TURN credentials (tk_…)"],
  [/^eyJ[\w-]*\.[\w-]+\.[\w-]*$/, "a token for clients (eyJ…): commands take a connect token as PARLEY_TOKEN"],
];

/** Printable ASCII because it is sent in a header, long because it alone protects the control plane. */
export const adminToken: Read<string> = (text) => {
  if (text.includes("…"))
    return { problem: 'contains the placeholder "…": replace it with a token (make one: openssl rand -hex 32)' };
  const [, other] = OTHER_CREDENTIALS.find(([form]) => form.test(text.trim())) ?? [];
  if (other !== undefined)
    return {
      problem: `is ${other}. As the admin token, it would allow everything. Leave the setting out, or set a separate admin token (make one: openssl rand -hex 32)`,
    };
  return /^[\x21-\x7e]+$/.test(text) && text.length >= ADMIN_TOKEN_MIN_CHARS
    ? { value: text }
    : `at least ${ADMIN_TOKEN_MIN_CHARS} printable ASCII characters without spaces (make one: openssl rand -hex 32)`;
};

export const base64Key: Read<string> = (text) =>
  /^[A-Za-z0-9+/_-]+=*$/.test(text) && Buffer.from(text, "base64").length === MASTER_KEY_BYTES
    ? { value: text }
    : `base64 of exactly ${MASTER_KEY_BYTES} bytes (make one: openssl rand -base64 ${MASTER_KEY_BYTES})`;

export const cidrs: Read<readonly Cidr[]> = (text) => {
  const list = text.split(",").map(parseCidr);
  const good = list.filter((cidr) => cidr !== undefined);
  return good.length === list.length
    ? { value: good }
    : "addresses or CIDR blocks, separated by commas: 10.0.0.0/8,::1";
};

export const allowed: Read<Allow> = (text) => {
  const value = parseAllow(text);
  return value
    ? { value }
    : "networks (CIDR blocks) and host:port, separated by commas: 10.0.0.0/8,hooks.internal:8443";
};

export const urls: Read<readonly string[]> = (text) => {
  const list = text.split(",").map((one) => URL.parse(one.trim()));
  const good = list.flatMap((url) =>
    url && /^(https?|wss?):$/.test(url.protocol) && url.pathname === "/" ? [url] : [],
  );
  return good.length === list.length
    ? { value: good.map((url) => `${url.protocol}//${url.host}`) }
    : "addresses, separated by commas: https://realtime.example.com,http://parley:8080";
};

/** RFC 7064 and RFC 7065: these addresses have no slashes, and only TURN has a transport. */
const TURN_ADDRESS =
  /^(?:stuns?|(turns?)):(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?|\[[0-9a-fA-F:.]{2,45}\])(?::(\d{1,5}))?(\?transport=(?:udp|tcp))?$/;

function isTurnAddress(text: string): boolean {
  const [whole, turn, port, transport] = TURN_ADDRESS.exec(text) ?? [];
  if (whole === undefined || (transport !== undefined && turn === undefined)) return false;
  return port === undefined || (Number(port) >= 1 && Number(port) <= 65_535);
}

export const turnUrls: Read<readonly string[]> = (text) => {
  const list = text.split(",").map((one) => one.trim());
  return list.length <= TURN_URLS_MAX && list.every(isTurnAddress)
    ? { value: list }
    : `1 to ${TURN_URLS_MAX} addresses, separated by commas, without slashes: turn:turn.example.com:3478?transport=udp,turns:turn.example.com:443,stun:turn.example.com`;
};

/** Long, because from one credential a client can try out secrets. No comma and no space: coturn's file has one secret per line. */
export const turnSecrets: Read<readonly string[]> = (text) => {
  const list = text.split(",").map((one) => one.trim());
  const isGood = (one: string): boolean => /^[\x21-\x7e]+$/.test(one) && one.length >= TURN_SECRET_MIN_CHARS;
  return list.length <= 2 && list.every(isGood)
    ? { value: list }
    : `one secret, or two separated by a comma, of at least ${TURN_SECRET_MIN_CHARS} printable ASCII characters without spaces and commas (make one: openssl rand -hex 32)`;
};
