/** One setting: where it is read from, and what it may be. */
import type { Read } from "./reading.ts";

export interface Setting<T> {
  readonly env: string;
  readonly initial: T;
  /** Describes the default where the value itself does not. */
  readonly shown?: string;
  readonly meaning: string;
  readonly read: Read<T>;
  readonly secret?: true;
  /** A file or folder: made absolute when the settings are read, so that no part depends on the folder a process works in. */
  readonly path?: true;
}

export const setting = <T>(one: Setting<T>): Setting<T> => one;
