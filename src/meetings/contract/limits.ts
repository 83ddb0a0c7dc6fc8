/** Limits of meetings. */
import { KIB } from "../../protocol/limits.ts";

const MIB = 1024 * KIB;

export const PERSON_NAME_MAX_CHARS = 64;
/** How often a guest may rename itself in one stay. */
export const RENAMES_PER_STAY_MAX = 3;
/** A join holds its place for that long. */
export const PLACE_RESERVED_MS = 15_000;
/** A stay begins at the latest that long after its join: by then the place may have been taken. */
export const BEGIN_WITHIN_SEC = 60;
/** A connect token is valid for at most that long; `join` with `resume` gives the next one. */
export const CONNECT_TOKEN_MAX_SEC = 24 * 3600;
/** A connect token outlives the stay's end by that: the close is 4021 then, and not "token expired". */
export const CONNECT_TOKEN_SPARE_SEC = 60;
/** A node says that often that it is alive, while people are on it. */
export const BEAT_EVERY_MS = 5000;
/** A connection that was accepted but did not open is taken for lost after that. */
export const OPENS_WITHIN_MS = 10_000;
/**
 * How long after a transaction without an answer it may still be committed: PostgreSQL ends one that is idle for 10 s
 * (store/engines/postgres.ts), and the rest is spare.
 */
export const DOUBTED_FOR_MS = 15_000;
/** A node that is asked which stays it has enters them again within that time, or says that it cannot: who asks waits for a second. */
export const ENTERED_AGAIN_WITHIN_MS = 500;
/** Rows that a sweep reads at once of stays and of meetings; it goes on while there are more. */
export const SWEEP_ROWS = 200;
/** Rows that one loop works on before other work of the process gets its turn: about 3 ms of SQLite. */
export const ROWS_AT_ONCE = 10;
/** A place in the lobby, and its connect token. */
export const WAIT_MAX_SEC = 30 * 60;

/** The size of a signal, as JSON. */
export const SIGNAL_MAX_BYTES = 32 * KIB;
/**
 * Signals, per minute and node. Ten people who all enter, share a screen and restart their connections within a minute write about half of
 * what the room has.
 */
export const SENDER_SIGNALS_BYTES_PER_MINUTE = MIB;
export const INBOX_BYTES_PER_MINUTE = 4 * MIB;
export const ROOM_SIGNALS_BYTES_PER_MINUTE = 16 * MIB;
/**
 * How much of a room's signals, and of an inbox's, one holder of places may write: one access token at an address, or all guests of an address. Twenty
 * people of one office who enter together write about 7 MiB. All guests together leave something to those with an access token, and to those an admin let in.
 */
export const HOLDER_SHARE_OF_SIGNALS = 5 / 8;
export const GUESTS_SHARE_OF_SIGNALS = 3 / 4;
/** What a holder may write whatever others have written, up to as much again for all: enough to call twenty people. */
export const OWN_SHARE_OF_SIGNALS = 1 / 64;

/**
 * Lines of the chat, per node: how many at once, then how many per second, of one holder (as above) and of all together. A chat keeps 500 lines: a guest
 * who could write as many at once would remove those of all others before an admin can remove the guest. Invited people are those with an access token
 * for the room, and those an admin let in.
 */
export const CHAT_LINES_OF_GUESTS = { each: { burst: 100, perSecond: 5 }, together: { burst: 200, perSecond: 10 } };
/** What a holder has for itself before these, whatever the others write. */
export const OWN_CHAT_LINES = { burst: 10, perSecond: 0.5 };
export const CHAT_LINES_OF_INVITED = { each: { burst: 600, perSecond: 10 }, together: { burst: 1200, perSecond: 20 } };

/** Reactions of a stay. A stay has one connection, so a node counts all of them. */
export const REACTIONS_BURST = 2;
export const REACTIONS_PER_SECOND = 2;

/** People who wait for one room. */
export const LOBBY_MAX = 50;
/** How many of them may have one address. */
export const LOBBY_ADDRESS_MAX = 3;
/** The same for one IPv6 site (/48): its networks count as different addresses. */
export const LOBBY_SITE_MAX = 10;
/** A place in the lobby ends that long after its page was last seen, or after WAIT_MAX_SEC. */
export const LOBBY_GONE_MS = 30_000;
/** A node says that often that a page is there. */
export const LOBBY_SEEN_EVERY_MS = 10_000;
export const LOBBY_SWEEP_EVERY_MS = 2000;
/** Who was declined waits that long. */
export const DECLINED_MS = 60_000;
/** The page of a visitor who has an answer leaves the lobby by itself; its connection is closed that long after the answer if it is still there. */
export const ADMITTED_LEAVES_MS = 10_000;
export const DECLINED_LEAVES_MS = 1000;
/** The queue is read again that long after it was shown. */
export const QUEUE_SETTLES_MS = 300;
/** The same for whether a host is inside. */
export const HOSTS_SETTLE_MS = 300;
/** The same for whether a meeting is being recorded. */
export const RECORDING_SETTLES_MS = 300;

/** How often it is checked whose time is over. */
export const TICK_MS = 1000;
/** People hear that long before that their time, or the meeting, is over. */
export const WARNED_BEFORE_MS = 60_000;
/** Before such a warning for want of activity, the other nodes and the store are asked for that long. Nodes answer within a second, or not at all. */
export const ACTIVITY_KNOWN_WITHIN_MS = 1500;
/** Rooms with people on this node are read again that often: a node may have missed a change. */
export const ROOM_CHECKED_EVERY_MS = 10_000;
export const ROOMS_CHECKED_PER_SECOND = 20;
/** Notices that could not be published are tried again that often: one of them while they fail, then up to a hundred at once. */
export const MISSED_REPEATED_EVERY_MS = 2000;
export const MISSED_REPEATED_AT_ONCE = 100;
/** How many of them are remembered; the oldest of the application that has the most are given up. */
export const MISSED_MAX = 10_000;

export const MEETINGS_PAGE_MAX = 100;
export const MEETINGS_PAGE_DEFAULT = 50;
/** Participants that the record of one meeting lists. */
export const PARTICIPANTS_SHOWN_MAX = 1000;
/** Meetings that the list of active ones has. */
export const ACTIVE_MEETINGS_MAX = 1000;
/** How often the end of a meeting is tried while people enter it. */
export const ENDING_ROUNDS = 5;
/** A connection that opens that long after its room was changed may have been let in by the room as it was before. */
export const CHANGE_REMEMBERED_MS = 30_000;
export const CHANGES_REMEMBERED_MAX = 10_000;

/** A "join as host" link lets its holder in for that long, unless the call asks for another time. */
export const HOST_LINK_SEC = 15 * 60;

/** TURN credentials are good for that long unless a call says otherwise: as long as a connect token. */
export const TURN_CREDENTIAL_SEC = CONNECT_TOKEN_MAX_SEC;
/** Those in the answer to a join: until its connection opens, whose welcome has the ones of the stay. */
export const TURN_JOIN_SEC = 120;
export const TURN_CREDENTIAL_MAX_SEC = 365 * 24 * 3600;
/** The username has that many characters of the digest. */
export const TURN_NAME_CHARS = 16;
export const TURN_LABEL_MAX_CHARS = 128;
