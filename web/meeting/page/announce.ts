/** Short texts for everyone: shown for a while, and read aloud by screen readers. */
import { signal } from "@preact/signals";

export interface Announcement {
  readonly id: number;
  readonly text: string;
  /** Only read aloud: what is shown elsewhere already. */
  readonly isHidden: boolean;
}

/** Older ones make room. */
const AT_ONCE_MAX = 3;
const SHOWN_MS = 6000;

export const announcements = signal<readonly Announcement[]>([]);
let last = 0;

/** What happened in a meeting is of no interest outside. */
export function forgetAnnouncements(): void {
  announcements.value = [];
}

export function announce(text: string, isHidden = false): void {
  const id = ++last;
  announcements.value = [...announcements.value, { id, text, isHidden }].slice(-AT_ONCE_MAX);
  setTimeout(() => {
    announcements.value = announcements.value.filter((one) => one.id !== id);
  }, SHOWN_MS);
}
