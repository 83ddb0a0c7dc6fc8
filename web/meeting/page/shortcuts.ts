/** Single keys. They can be turned off: speech input types letters too (WCAG 2.1.4). */
import type { TextKey } from "../texts/en.ts";

export const SHORTCUTS = [
  { key: "M", text: "microphone" },
  { key: "V", text: "camera" },
  { key: "S", text: "shareScreen" },
  { key: "C", text: "chat" },
  { key: "H", text: "raiseHand" },
  { key: "R", text: "record" },
  { key: "?", text: "shortcutHelp" },
] as const satisfies readonly { readonly key: string; readonly text: TextKey }[];

export type Shortcut = (typeof SHORTCUTS)[number]["key"];

interface Pressed {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly repeat: boolean;
}

/** The shortcut of a key; undefined while a text is written, or with another key held. */
export function shortcutOf(pressed: Pressed, isWriting: boolean): Shortcut | undefined {
  if (isWriting || pressed.ctrlKey || pressed.metaKey || pressed.altKey || pressed.repeat) return undefined;
  return SHORTCUTS.find(({ key }) => key === pressed.key.toUpperCase())?.key;
}

/** A device that is only touched has no keys: shortcuts are not mentioned there. */
export const hasKeys = (): boolean => matchMedia("(any-pointer: fine)").matches;

export const isWritingIn = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName));
