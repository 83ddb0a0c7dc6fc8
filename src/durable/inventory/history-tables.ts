/** Tables of histories: in `history.sqlite`, and in PostgreSQL. */
import {
  ENDED_KEPT_MS,
  EXPIRED_STREAM_KEPT_MS,
  PRODUCER_KEPT_MS,
  PRODUCERS_MAX,
  STREAMS_PER_APP_MAX,
  WRITER_KEPT_MS,
} from "../../history/contract/limits.ts";
import { MESSAGE_ID_REMEMBERED_MS, STREAM_SECONDS_MAX } from "../../protocol/limits.ts";
import {
  type DurableTable,
  MADE_BY_MIGRATION,
  OF_PROCESSES,
  type Retention,
  WHILE_THE_SERVICE_EXISTS,
  WITH_ITS_DATABASE,
} from "./entry.ts";
import { timeText } from "./texts.ts";

const OF_MESSAGES: Retention = { age: { field: "channelRules" }, amount: { field: "maxHistoryBytes" } };
const OF_STREAMS: Retention = {
  age: { fixed: `as long as they hold messages, and ${timeText(EXPIRED_STREAM_KEPT_MS)} after their last use` },
  amount: { fixed: `${STREAMS_PER_APP_MAX.toLocaleString("en")} per application` },
};
const OF_IDS: Retention = {
  age: { fixed: timeText(MESSAGE_ID_REMEMBERED_MS) },
  amount: { fixed: "as many messages as are published with an id in that time" },
};
const OF_GONE: Retention = {
  age: { fixed: "until their messages are deleted, within seconds" },
  amount: { fixed: "a row per removed channel" },
};

const OF_CREATED: Retention = {
  age: {
    fixed: `until they are deleted, or unused for as long as their channel rule says, at most ${timeText(STREAM_SECONDS_MAX * 1000)}`,
  },
  amount: { field: "maxStreamBytes" },
};
const OF_PRODUCERS: Retention = {
  age: {
    fixed: `as long as their stream; of channels with history ${timeText(PRODUCER_KEPT_MS)} after their last write`,
  },
  amount: { fixed: `${PRODUCERS_MAX.toLocaleString("en")} per channel` },
};
const OF_ENDED: Retention = {
  age: { fixed: timeText(ENDED_KEPT_MS) },
  amount: { fixed: "a row per stream that ended in that time" },
};
const OF_WRITERS: Retention = {
  age: { fixed: `${timeText(WRITER_KEPT_MS)} after its last write` },
  amount: { fixed: "a row per process" },
};

const COMMON = { subject: "messages", ...WITH_ITS_DATABASE, move: "converted", deletion: "swept" } as const;

const OF_STREAMS_OVER_HTTP = { ...COMMON, subject: "streams" } as const;
const READ_BY_NODES = { leftBecause: "only nodes that are running read it" };

/** The same in both. */
const CREATED_COLUMNS = [
  "type",
  "ttl_ms",
  "expires_at",
  "idle_ms",
  "made",
  "used",
  "ends",
  "changed",
  "closed",
  "seq",
  "fork",
  "source",
  "lineage",
  "state",
];

/** Tables of `history.sqlite`. */
export const HISTORY_TABLES: readonly DurableTable[] = [
  {
    name: "streams",
    key: ["id"],
    columns: [
      "app",
      "channel",
      "epoch",
      "top",
      "top_check",
      "low",
      "low_check",
      "last_time",
      "bytes",
      "keep_messages",
      "keep_ms",
      "expires",
      "changed",
      "used",
      "ids_of",
    ],
    holds: "channels with history: epoch, offsets, what they keep",
    ...COMMON,
    retention: OF_STREAMS,
  },
  {
    name: "runs",
    key: ["stream", "last"],
    columns: ["first", "time", "size", "batch", "body"],
    holds: "messages, with their senders and metadata",
    ...COMMON,
    retention: OF_MESSAGES,
  },
  {
    name: "ids",
    key: ["seq"],
    columns: ["stream", "scope", "mid", "off", "batch", "time", "epoch"],
    holds: "ids of messages, against repeats",
    ...COMMON,
    retention: OF_IDS,
  },
  {
    name: "gone",
    key: ["stream"],
    columns: [],
    holds: "removed channels whose messages are still to be deleted",
    ...COMMON,
    retention: OF_GONE,
  },
  {
    name: "created",
    key: ["stream"],
    columns: CREATED_COLUMNS,
    holds: "streams: content type, when they end, whether they are closed, what they are forks of",
    ...OF_STREAMS_OVER_HTTP,
    retention: OF_CREATED,
  },
  {
    name: "producers",
    key: ["stream", "owner", "pid"],
    columns: ["epoch", "seq", "used"],
    holds: "who writes exactly once: key or peer, producer, and the number of its last write",
    ...OF_STREAMS_OVER_HTTP,
    retention: OF_PRODUCERS,
  },
  {
    name: "ended",
    key: ["app", "channel"],
    columns: ["at"],
    holds: "names of streams that have ended lately, for nodes that missed it",
    ...OF_STREAMS_OVER_HTTP,
    move: READ_BY_NODES,
    retention: OF_ENDED,
  },
  {
    name: "writers",
    key: ["id"],
    columns: ["batch", "result", "used"],
    subject: "notes",
    holds: "the last batch of each process that writes over HTTP",
    ...WITH_ITS_DATABASE,
    move: OF_PROCESSES,
    retention: OF_WRITERS,
    deletion: "none",
  },
];

/** Tables of the history in PostgreSQL. */
export const POSTGRES_HISTORY_TABLES: readonly DurableTable[] = [
  {
    name: "history_migrations",
    key: ["version"],
    columns: ["applied"],
    subject: "notes",
    holds: "the version of its schema",
    ...WITH_ITS_DATABASE,
    move: MADE_BY_MIGRATION,
    retention: { age: WHILE_THE_SERVICE_EXISTS, amount: { fixed: "one row per version of the schema" } },
    deletion: "none",
  },
  {
    name: "history_streams",
    key: ["id"],
    columns: [
      "app",
      "channel",
      "epoch",
      "top",
      "top_check",
      "low",
      "low_check",
      "low_time",
      "last_time",
      "bytes",
      "keep_messages",
      "keep_ms",
      "expires",
      "is_overfull",
      "changed",
      "used",
      "ids_of",
    ],
    holds: "channels with history: epoch, offsets, what they keep",
    ...COMMON,
    retention: OF_STREAMS,
  },
  {
    name: "history_messages",
    key: ["stream", "off"],
    columns: ["time", "size", "batch", "sender", "connection", "mid", "metadata", "data"],
    holds: "messages, with their senders and metadata",
    ...COMMON,
    retention: OF_MESSAGES,
  },
  {
    name: "history_ids",
    key: ["stream", "scope", "mid"],
    columns: ["off", "batch", "time", "epoch"],
    holds: "ids of messages, against repeats",
    ...COMMON,
    retention: OF_IDS,
  },
  {
    name: "history_gone",
    key: ["stream"],
    columns: [],
    holds: "removed channels whose messages are still to be deleted",
    ...COMMON,
    retention: OF_GONE,
  },
  {
    name: "history_created",
    key: ["stream"],
    columns: [...CREATED_COLUMNS.filter((name) => name !== "state"), "media", "due", "is_gone"],
    holds: "streams: content type, when they end, whether they are closed, what they are forks of",
    ...OF_STREAMS_OVER_HTTP,
    retention: OF_CREATED,
  },
  {
    name: "history_producers",
    key: ["stream", "owner", "pid"],
    columns: ["epoch", "seq", "used", "day"],
    holds: "who writes exactly once: key or peer, producer, and the number of its last write",
    ...OF_STREAMS_OVER_HTTP,
    retention: OF_PRODUCERS,
  },
  {
    name: "history_ended",
    key: ["app", "channel"],
    columns: ["at"],
    holds: "names of streams that have ended lately, for nodes that missed it",
    ...OF_STREAMS_OVER_HTTP,
    move: READ_BY_NODES,
    retention: OF_ENDED,
  },
  {
    name: "history_held",
    key: ["app", "part"],
    columns: ["streams", "bytes"],
    holds: "how many streams each application has, and their bytes",
    ...OF_STREAMS_OVER_HTTP,
    retention: { age: { fixed: "as long as they have streams" }, amount: { fixed: "16 rows per application" } },
  },
  {
    name: "history_writers",
    key: ["id"],
    columns: ["generation", "batch", "result", "used"],
    subject: "notes",
    holds: "the last batch of each process",
    ...WITH_ITS_DATABASE,
    move: OF_PROCESSES,
    retention: {
      age: { fixed: `${timeText(EXPIRED_STREAM_KEPT_MS)} after its last write` },
      amount: { fixed: "a row per process" },
    },
    deletion: "none",
  },
];
