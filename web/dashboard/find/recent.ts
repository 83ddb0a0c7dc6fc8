/** Where the command palette has led lately. It is forgotten when someone signs out (api/session.ts). */
import { RECENT } from "../api/session.ts";

export interface Recent {
  readonly title: string;
  /** What kind of thing, and of which application. */
  readonly detail: string;
  /** Below /dashboard. */
  readonly to: string;
}

const KEPT_MAX = 6;

const isRecent = (one: unknown): one is Recent =>
  typeof one === "object" &&
  one !== null &&
  ["title", "detail", "to"].every((name) => typeof (one as Record<string, unknown>)[name] === "string");

export function recent(): readonly Recent[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(RECENT) ?? "[]");
    return Array.isArray(kept) ? kept.filter(isRecent).slice(0, KEPT_MAX) : [];
  } catch {
    return [];
  }
}

export function remember({ title, detail, to }: Recent): void {
  try {
    const others = recent().filter((one) => one.to !== to);
    localStorage.setItem(RECENT, JSON.stringify([{ title, detail, to }, ...others].slice(0, KEPT_MAX)));
  } catch {
    // Without storage nothing is remembered.
  }
}
