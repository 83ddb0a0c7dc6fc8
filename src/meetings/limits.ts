/** Limits of joining and of stays. */
export const PERSON_NAME_MAX_CHARS = 64;
/** A join holds its place for that long. */
export const PLACE_HELD_MS = 15_000;
/** A stay begins at the latest that long after its join: by then the place may be somebody else's. */
export const BEGIN_WITHIN_SEC = 60;
/** Of a connect token; `join` with `resume` gives the next one. */
export const CONNECT_TOKEN_MAX_SEC = 24 * 3600;
/** A connect token outlives the stay's end by that: the close is 4021 then, and not "token expired". */
export const CONNECT_TOKEN_SPARE_SEC = 60;
/** A mesh of microphones only carries more people than one with cameras. */
export const AUDIO_MESH_MAX = 10;
/** A node says that often that it is alive, while people are on it. */
export const BEAT_EVERY_MS = 5000;
/** A connection that was let in but did not open is taken for lost after that. */
export const OPENS_WITHIN_MS = 10_000;
/** Rows that one sweep reads of stays and of meetings. */
export const SWEEP_ROWS = 200;
/** A place in the lobby, and its connect token. */
export const WAIT_MAX_SEC = 30 * 60;
