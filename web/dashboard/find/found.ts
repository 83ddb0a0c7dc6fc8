/** What the service finds of the current application while someone types. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get, query, segment } from "../api/client.ts";
import type { Room } from "../api/room-types.ts";
import type { ListedStream } from "../api/stream-types.ts";
import type { ActiveChannel, App, Key, List, ListedPeer } from "../api/types.ts";
import { asApiError } from "../live/live.ts";

/** Entries of each kind. */
const SHOWN_MAX = 6;

export interface Found {
  readonly channels: readonly ActiveChannel[];
  readonly peers: readonly ListedPeer[];
  readonly rooms: readonly Room[];
  readonly streams: readonly ListedStream[];
}

interface Search {
  /** What was typed, of which this is the answer. */
  readonly of: string;
  readonly found: Found;
  /** Why a part of it is missing. */
  readonly problem: string;
}

const NONE: Found = { channels: [], peers: [], rooms: [], streams: [] };

export function useFound(app: App | undefined, typed: string): Search {
  const search = useSignal<Search>({ of: "", found: NONE, problem: "" });
  useEffect(() => {
    if (!app || typed === "") {
      search.value = { of: typed, found: NONE, problem: "" };
      return;
    }
    const controller = new AbortController();
    void findAll(app, typed, controller.signal).then((next) => {
      if (!controller.signal.aborted) search.value = next;
    });
    return () => controller.abort();
  }, [app?._id, typed]);
  return search.value;
}

async function findAll(app: App, typed: string, signal: AbortSignal): Promise<Search> {
  const root = `/apps/${segment(app._id)}`;
  let problem = "";
  const rows = <T>(path: string): Promise<readonly T[]> =>
    get<List<T>>(path, signal).then(
      ({ data }) => data,
      (error: unknown) => {
        problem = asApiError(error).message;
        return [];
      },
    );
  const limit = SHOWN_MAX;
  // An application without such a rule has no streams.
  const hasStreams = app.channelRules.some(({ stream }) => stream);
  const [channels, peers, rooms, streams] = await Promise.all([
    rows<ActiveChannel>(`${root}/channels${query({ contains: typed, limit })}`),
    rows<ListedPeer>(`${root}/peers${query({ contains: typed, limit })}`),
    rows<Room>(`${root}/rooms${query({ search: typed, limit })}`),
    hasStreams ? rows<ListedStream>(`${root}/streams${query({ contains: typed, limit })}`) : [],
  ]);
  return { of: typed, found: { channels, peers, rooms, streams }, problem };
}

/** An application has at most 50 live keys: they are loaded once, when the palette opens. */
export function useKeys(app: App | undefined): readonly Key[] {
  const keys = useSignal<readonly Key[]>([]);
  useEffect(() => {
    if (!app) return;
    const controller = new AbortController();
    get<List<Key>>(`/signalling/keys${query({ app: app._id, revoked: "false" })}`, controller.signal).then(
      ({ data }) => {
        keys.value = data;
      },
      // Keys are then missing in the list; the page Keys says why.
      () => undefined,
    );
    return () => controller.abort();
  }, [app?._id]);
  return keys.value;
}
