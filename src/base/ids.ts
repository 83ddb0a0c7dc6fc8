/**
 * Ids that are texts and must not be taken for each other. The compiler tells them apart; at runtime they are plain strings, and a
 * conversion is at most the text itself with or without a suffix.
 *
 * An application has an id (AppId), which the store gives it: rows, keys, operators, quotas, usage and caps are found by it. It has two
 * spaces (SpaceId), worlds of channels and peers that cannot reach each other: its own, and that of the people in its rooms. Nothing
 * that the application's keys and tokens reach is in the second, and nothing in it reaches them. Channels, peers, direct messages,
 * history and rosters are found by the space.
 *
 * - The functions here are the only place that knows how the id of a space is written. Everything else converts with them.
 * - A text becomes an id where it enters, with `asAppId` and `asSpaceId`: in rows of the store, in messages of other nodes that were
 *   checked, in names of files. What a client names is looked up (Keyring.app, Directory.app), and the row that is found has the id.
 * - An id becomes a text by itself, in JSON, SQL, keys of maps made of several parts, and the log.
 * - In the code an `app` is an AppId and a `spaceId` is a SpaceId. Messages between nodes, rows of history, the requests of live lists and lines of the log
 *   have an `app` that is a SpaceId, because its name is in what is sent or stored: the type says which it is.
 */
declare const ofApp: unique symbol;
declare const ofSpace: unique symbol;

/** The id of an application. */
export type AppId = string & { readonly [ofApp]: true };

/** The id of a space: of an application's own, or of the one of its rooms. */
export type SpaceId = string & { readonly [ofSpace]: true };

/** For a text that is known to be the id of an application, or that stands for none where one is expected. */
export const asAppId = (text: string): AppId => text as AppId;

/** For a text that is known to be the id of a space. */
export const asSpaceId = (text: string): SpaceId => text as SpaceId;

/** No application's id contains a `#`. */
const ROOMS_SUFFIX = "#rooms";

/** The space of an application's own channels and peers. */
export const spaceOf = (app: AppId): SpaceId => app as string as SpaceId;

/** The space of the people in an application's rooms. */
export const roomSpaceOf = (app: AppId): SpaceId => (app + ROOMS_SUFFIX) as SpaceId;

export const isRoomSpace = (spaceId: SpaceId): boolean => spaceId.endsWith(ROOMS_SUFFIX);

const STREAMS_SUFFIX = "#streams";

/**
 * Where the history store keeps what is in an application's created streams (history/contract/created-streams.ts): apart from the history
 * of its own channels, whose limits trim. Only the store knows this space; channels with a created stream are in the application's own.
 */
export const streamSpaceOf = (app: AppId): SpaceId => (app + STREAMS_SUFFIX) as SpaceId;

export const isStreamSpace = (spaceId: SpaceId): boolean => spaceId.endsWith(STREAMS_SUFFIX);

const GUESTS_SUFFIX = "#guests";

/** The guests of an application's rooms, where nodes count connections by application: those of guests are counted under this too. Nothing is stored under it. */
export const guestsOf = (app: AppId): AppId => (app + GUESTS_SUFFIX) as AppId;

/** The application whose guests are counted under this; undefined: it is an application. */
export const appOfGuests = (app: AppId): AppId | undefined =>
  app.endsWith(GUESTS_SUFFIX) ? (app.slice(0, -GUESTS_SUFFIX.length) as AppId) : undefined;

/** The application that a space belongs to. */
export const appOfSpace = (spaceId: SpaceId): AppId => {
  // Almost every space is an application's own, and its id has no `#`.
  const end = spaceId.indexOf("#");
  return (end < 0 ? (spaceId as string) : spaceId.slice(0, end)) as AppId;
};
