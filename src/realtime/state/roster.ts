/** The members of a channel at one time. Newcomers share it: one for each of them would take members × newcomers of memory. */
export interface Roster {
  readonly parts: readonly RosterPart[];
  /** By peer id, without states. */
  readonly entries: ReadonlyMap<string, string>;
  /** By peer id, as they are in the parts. */
  readonly written: ReadonlyMap<string, string>;
  /** By peer id: the states that it carries; `undefined` for a roster without states. */
  readonly states: ReadonlyMap<string, string> | undefined;
}

export interface RosterPart {
  /** Entries, with commas between. */
  readonly text: string;
  /** By peer id: where its entry begins in the text. */
  readonly starts: ReadonlyMap<string, number>;
}
