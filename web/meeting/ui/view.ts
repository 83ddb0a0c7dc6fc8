/** How the inside is looked at: layout, panels and dialogs. None of it is known to others. */
import { signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { keep, kept } from "../page/storage.ts";
import type { Visit } from "../visit/visit.ts";

export type Panel = "chat" | "people";
export type DialogName =
  | "devices"
  | "invite"
  | "shortcuts"
  | "end"
  | "leave"
  | "record"
  | { readonly remove: string; readonly name: string; readonly isGuest: boolean }
  | { readonly rename: string; readonly name: string };

export const layout = signal<"grid" | "speaker">("grid");
/** The key of a tile. */
export const pinned = signal<string | undefined>(undefined);
export const panel = signal<Panel | undefined>(undefined);
export const dialog = signal<DialogName | undefined>(undefined);
/** Whom this page has removed: guests are known by their names only. Bound: NAMES_MAX. */
export const removedNames = signal<readonly string[]>([]);
const NAMES_MAX = 100;
export const hasShortcuts = signal(kept("local", "shortcuts") !== "off");

export function setShortcuts(isOn: boolean): void {
  hasShortcuts.value = isOn;
  keep("local", "shortcuts", isOn ? undefined : "off");
}

export function keepRemoved(name: string): void {
  removedNames.value = [...removedNames.value, name].slice(-NAMES_MAX);
}

export function togglePanel(name: Panel): void {
  panel.value = panel.value === name ? undefined : name;
}

export function resetView(): void {
  layout.value = "grid";
  pinned.value = undefined;
  panel.value = undefined;
  dialog.value = undefined;
  removedNames.value = [];
}

export const VisitContext = createContext<Visit | undefined>(undefined);

export function useVisit(): Visit {
  const visit = useContext(VisitContext);
  if (!visit) throw new Error("There is no visit around this element.");
  return visit;
}
