/** What the control plane answers about what is kept. */

export interface Amount {
  /** null: it is not counted, or not known at the moment. */
  readonly count: number | null;
  readonly bytes: number | null;
  readonly isAbout: boolean;
}

export interface Change {
  readonly command?: string;
  readonly setting?: string;
  readonly page?: string;
}

export type PlaceId = "store" | "histories" | "recordings" | "files";

export interface KeptData {
  readonly id: string;
  readonly title: string;
  readonly holds: string;
  readonly kept: string;
  readonly limit: string;
  /** Singular or plural, as the number is. */
  readonly counted: string | null;
  readonly now: Amount;
  readonly places: readonly PlaceId[];
  /** Empty: its limits are fixed. */
  readonly change: readonly Change[];
  readonly page: string | null;
  readonly backup: string;
  readonly deletion: string;
}

export interface WhatIsKept {
  readonly measured: number;
  readonly places: readonly {
    readonly id: PlaceId;
    readonly where: string;
    readonly bytes: number | null;
    readonly isAbout: boolean;
  }[];
  readonly data: readonly KeptData[];
}
