/** The history of the server, in a worker. Functions do not travel: they are called here, with what the server asks about. */
import type { AppId, SpaceId } from "../base/ids.ts";
import type { CreatedStreamStore } from "../history/contract/created-streams.ts";
import { type Batch, type HistoryStore, HistoryUnavailable } from "../history/contract/history.ts";
import type { Retention } from "../protocol/patterns/channel-rules.ts";
import type { Contracts, HistoryCalls } from "./methods.ts";
import type { ServerConnection } from "./server-connection.ts";

interface RemoteHistoryParts {
  readonly server: ServerConnection;
  readonly history: Contracts["history"];
  readonly calls: HistoryCalls;
  readonly created: Contracts["created"];
  readonly createdCalls: Contracts["createdCalls"];
  readonly closed: () => void;
}

/** A call that is refused when the history is closed. */
type Open = <A extends unknown[], T>(call: (...args: A) => Promise<T>) => (...args: A) => Promise<T>;

export function remoteHistory(parts: RemoteHistoryParts): HistoryStore {
  const { server, history, calls, closed } = parts;
  let isClosed = false;
  const open: Open = (call) => {
    return async (...args) => {
      if (isClosed) throw new HistoryUnavailable("the history is closed");
      return call(...args);
    };
  };
  const trimming = new RemoteTrimming(server, calls);
  return {
    isShared: true,
    append: open((batch: Batch) => server.append(batch)),
    settle: open(history.settle),
    open: open(history.open),
    read: open(history.read),
    heads: open(history.heads),
    remove: open(history.remove),
    removeSpace: open(history.removeSpace),
    usage: open(history.usage),
    totals: open(history.totals),
    created: remoteCreated(parts, open),
    applyRules: open(async (spaceId: SpaceId, keep: (channel: string) => Retention | undefined) => {
      for (let after: string | undefined = ""; after !== undefined; ) {
        const channels: readonly string[] = await calls.channelsAfter(spaceId, after);
        if (channels.length > 0)
          await calls.applyTo(spaceId, new Map(channels.map((channel) => [channel, keep(channel)])));
        after = channels.at(-1);
      }
    }),
    trim: open((maxBytesOf: (app: AppId) => number) => trimming.trim(maxBytesOf)),
    onRewound: (listener) => server.onRewound(listener),
    close: async () => {
      isClosed = true;
      closed();
    },
  };
}

function remoteCreated({ created, createdCalls }: RemoteHistoryParts, open: Open): CreatedStreamStore {
  return {
    create: open(created.create),
    write: open(created.write),
    settle: open(created.settle),
    describe: open(created.describe),
    read: open(created.read),
    use: open(created.use),
    delete: open(created.delete),
    list: open(created.list),
    producers: open(created.producers),
    changes: open(created.changes),
    expire: open(created.expire),
    applyRules: open(async (spaceId: SpaceId, isStream: (channel: string) => boolean) => {
      for (let after: string | undefined = ""; after !== undefined; ) {
        const channels: readonly string[] = await createdCalls.channelsAfter(spaceId, after);
        const over = channels.filter((channel) => !isStream(channel));
        if (over.length > 0) await createdCalls.deleteAll(spaceId, over);
        after = channels.at(-1);
      }
    }),
  };
}

class RemoteTrimming {
  /** What the server knows of each application, on this connection. Bound: applications that have streams, or had. */
  private sent = new Map<AppId, number>();
  private connection = -1;

  constructor(
    private readonly server: ServerConnection,
    private readonly calls: HistoryCalls,
  ) {}

  async trim(maxBytesOf: (app: AppId) => number): Promise<boolean> {
    if (this.connection !== this.server.connection) this.sent = new Map();
    this.connection = this.server.connection;
    const changed = new Map<AppId, number>();
    for (const [app, bytes] of this.sent) if (maxBytesOf(app) !== bytes) changed.set(app, maxBytesOf(app));
    const { more, unknown } = await this.ask(changed);
    if (unknown.length === 0) return more;
    return (await this.ask(new Map(unknown.map((app) => [app, maxBytesOf(app)])))).more;
  }

  private async ask(changed: ReadonlyMap<AppId, number>): ReturnType<HistoryCalls["trim"]> {
    const { sent } = this;
    const result = await this.calls.trim(changed);
    for (const [app, bytes] of changed) sent.set(app, bytes);
    return result;
  }
}
