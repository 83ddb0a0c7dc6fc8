/** Browser origins: their normal form, and whether a key allows the origin of a request. */
import { ORIGIN_MAX_CHARS } from "./limits.ts";

const FORM = /^([a-z][a-z0-9+.-]*):\/\/(\*\.)?([a-z0-9_]([a-z0-9._-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/;
const DEFAULT_PORT: Readonly<Record<string, string>> = { http: "80", https: "443", ws: "80", wss: "443" };

/** Lower case, without a default port; undefined if it is not an origin. `*` and wildcard hosts count as origins. */
export function normalizeOrigin(text: string): string | undefined {
  if (text === "*") return text;
  const lower = text.toLowerCase();
  const parts = lower.length <= ORIGIN_MAX_CHARS ? FORM.exec(lower) : null;
  if (!parts) return undefined;
  const [, scheme = "", , , , port] = parts;
  return port !== undefined && port === DEFAULT_PORT[scheme] ? lower.slice(0, -port.length - 1) : lower;
}

/** `allowed` holds normalized entries. A wildcard, as in `https://*.example.com`, stands for exactly one label. */
export function originAllowed(origin: string, allowed: readonly string[]): boolean {
  if (allowed.includes("*")) return true;
  const own = normalizeOrigin(origin);
  if (own === undefined || own.includes("*")) return false;
  if (allowed.includes(own)) return true;
  const host = own.indexOf("://") + 3;
  const dot = own.indexOf(".", host);
  return dot > host && allowed.includes(`${own.slice(0, host)}*${own.slice(dot)}`);
}
