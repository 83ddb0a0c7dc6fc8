/** Names of people. What others call themselves is their own choice: it is cut, isolated from the text around it, and never markup. */
import { h } from "./dom.ts";

/** Many, so that two tabs seldom have the same. */
const NAMES = (
  "Ada Adele Alan Annie Barbara Betty Claude Donald Dorothy Edith Edsger Evelyn Frances Grace Hedy Ida Jean John Karen Katherine Kathleen " +
  "Ken Leslie Linus Lynn Margaret Marlyn Mary Niklaus Radia Ray Rózsa Shafi Sophie Steve Stephanie Susan Tim Tony Vint Whitfield"
).split(" ");
export const NAME_MAX_CHARS = 40;
const TONES = 6;

/** What a member says about itself, as presence state. */
export interface Person {
  readonly name: string;
  readonly isBusy: boolean;
}

/** Reads a state that anyone may have set to anything. */
export function personOf(peerId: string, state: unknown): Person {
  const { name, busy } = typeof state === "object" && state !== null ? (state as Record<string, unknown>) : {};
  const own = typeof name === "string" ? readable(name) : "";
  return { name: own || shortId(peerId), isBusy: busy === true };
}

/** Without characters that are not seen: some of them turn the text around a name. */
export const readable = (name: string): string =>
  name
    .replace(/[\p{Cc}\p{Bidi_Control}]/gu, "")
    .trim()
    .slice(0, NAME_MAX_CHARS);

/** Peers with a publishable key have a random UUID as their id: its beginning is enough here. */
const shortId = (peerId: string): string =>
  /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(peerId) ? `Guest ${peerId.slice(0, 4)}` : peerId;

/** The name of one of this tab's people: kept over a reload; otherwise the one `given`, or any but `taken`. */
export function ownName(slot: string, { given = "", taken = "" } = {}): string {
  try {
    const kept = sessionStorage.getItem(keyOf(slot));
    if (kept) return kept;
  } catch {
    // Without storage, a reload picks another name.
  }
  if (given) return keepName(slot, given);
  const free = NAMES.filter((name) => name !== taken);
  return keepName(slot, free[Math.floor(Math.random() * free.length)] ?? "Ada");
}

export function keepName(slot: string, name: string): string {
  try {
    sessionStorage.setItem(keyOf(slot), name);
  } catch {
    // As above.
  }
  return name;
}

const keyOf = (slot: string): string => `parley-name-${slot}`;

export function avatar(name: string): HTMLElement {
  const tone = [...name].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0) % TONES;
  return h("span", { class: `avatar tone-${tone}`, "aria-hidden": "true" }, initialOf(name));
}

const initialOf = (name: string): string => (/[\p{L}\p{N}]/u.exec(name)?.[0] ?? "?").toUpperCase();

export const named = (name: string, tag: "b" | "bdi" = "bdi"): HTMLElement =>
  tag === "b" ? h("b", {}, h("bdi", {}, name)) : h("bdi", {}, name);
