/** What all nodes have refused lately, the newest first. Each node answers for itself: the same refusal on two nodes is two entries. */
import { z } from "zod";
import { FirstOf } from "../../../base/first-of.ts";
import { asAppId } from "../../../base/ids.ts";
import { type Infer, lazily } from "../../../base/lazily.ts";
import type { NodeRequests } from "../../../engine/node-requests.ts";
import { CHANNEL_MAX_BYTES, ORIGIN_MAX_CHARS, PEER_ID_MAX_CHARS } from "../../../protocol/limits.ts";
import type { Refusal, Refusals } from "../../events/refusals.ts";
import type { Page } from "./channels.ts";
import { LIVE_PAGE_MAX, NODE_MAX_CHARS } from "./limits.ts";

const APP_MAX_CHARS = 128;
const CODE_MAX_CHARS = 64;
const OFFERED_MAX_CHARS = 128;

export const REFUSAL_KINDS = ["refuse", "error"] as const;

const app = lazily(() => z.string().max(APP_MAX_CHARS).transform(asAppId));
const code = lazily(() => z.string().max(CODE_MAX_CHARS));
const time = lazily(() => z.int().min(0));

/** Where a refusal is in the order of the list. */
const place = lazily(() =>
  z.object({
    /** Unix ms. */
    lastMs: time(),
    number: z.int().min(0),
    /** The node's own name: the other one is not always unique. */
    node: z.string().max(NODE_MAX_CHARS),
  }),
);

const line = lazily(() =>
  place().extend({
    kind: z.enum(REFUSAL_KINDS),
    code: code(),
    app: app().optional(),
    keyId: z.string().max(256).optional(),
    peerId: z.string().max(PEER_ID_MAX_CHARS).optional(),
    offered: z.string().max(OFFERED_MAX_CHARS).optional(),
    channel: z.string().max(CHANNEL_MAX_BYTES).optional(),
    origin: z.string().max(ORIGIN_MAX_CHARS).optional(),
    address: z.string().max(64).optional(),
    firstMs: time(),
    count: z.int().min(1),
    nodeId: z.string().max(256),
  }),
);
const lines = lazily(() => z.array(line()).max(LIVE_PAGE_MAX + 1));

const request = lazily(() =>
  z.object({
    /** null: only connects with unknown credentials. */
    app: app().nullable().optional(),
    kind: z.enum(REFUSAL_KINDS).optional(),
    code: code().optional(),
    /** A part of the peer's id. Nodes of earlier versions know neither this nor `from`: the lists of all are searched again. */
    peer: z.string().max(PEER_ID_MAX_CHARS).optional(),
    /** A part of the origin or of the address. */
    from: z.string().max(ORIGIN_MAX_CHARS).optional(),
    after: place().optional(),
    limit: z.int().min(1).max(LIVE_PAGE_MAX),
  }),
);

type Place = Infer<typeof place>;
type Line = Infer<typeof line>;
type Request = Infer<typeof request>;
/** One entry of the list. Times are in Unix ms. */
export type LiveRefusal = Omit<Line, "node" | "number">;

interface PageRequest extends Omit<Request, "after"> {
  /** `next` of the previous page. */
  readonly after?: string | undefined;
}

const REQUEST = "refusals";

interface LiveRefusalsParts {
  readonly refusals: Refusals;
  readonly nodeRequests: NodeRequests;
  /** The node's name, as operators know it. */
  readonly nodeId: string;
}

export class LiveRefusals {
  constructor(private readonly parts: LiveRefusalsParts) {
    parts.nodeRequests.onRequest(REQUEST, (payload) => this.local(request().parse(payload)));
  }

  /** undefined: `after` is not the `next` of any page. */
  async page({ after, ...filters }: PageRequest): Promise<Page<LiveRefusal> | undefined> {
    const place = after === undefined ? undefined : placeOf(after);
    if (after !== undefined && !place) return undefined;
    const asked: Request = { ...filters, after: place };
    const { answers, isComplete } = await this.parts.nodeRequests.gather(REQUEST, asked, (value) =>
      lines().parse(value),
    );
    const all = answers.flat().sort((one, other) => (isNewer(one, other) ? -1 : 1));
    const page = all.slice(0, filters.limit);
    const last = all.length > page.length ? page.at(-1) : undefined;
    return {
      data: page.filter((one) => isAsked(one, filters)).map(({ node: _, number: __, ...shown }) => shown),
      next: last ? textOf(last) : null,
      isComplete,
    };
  }

  private local({ app, after, limit, ...filters }: Request): Line[] {
    const { refusals, nodeRequests, nodeId } = this.parts;
    const node = nodeRequests.self;
    const first = new FirstOf<Refusal & Place>(limit + 1, isNewer);
    for (const one of refusals.of(app)) {
      if (!isAsked(one, filters)) continue;
      const placed = { ...one, node };
      if (after === undefined || isNewer(after, placed)) first.offer(placed);
    }
    return first.sorted().map((one) => ({ ...one, nodeId }));
  }
}

/** In upper or lower case: people copy parts of names by hand. */
const isPartOf = (wanted: string, ...texts: readonly (string | undefined)[]): boolean =>
  texts.some((text) => text?.toLowerCase().includes(wanted.toLowerCase()));

const isAsked = (
  one: Pick<Refusal, "kind" | "code" | "peerId" | "origin" | "address">,
  { kind, code, peer, from }: Pick<Request, "kind" | "code" | "peer" | "from">,
): boolean =>
  (kind === undefined || one.kind === kind) &&
  (code === undefined || one.code === code) &&
  (peer === undefined || isPartOf(peer, one.peerId)) &&
  (from === undefined || isPartOf(from, one.origin, one.address));

function isNewer(one: Place, other: Place): boolean {
  if (one.lastMs !== other.lastMs) return one.lastMs > other.lastMs;
  return one.node === other.node ? one.number > other.number : one.node < other.node;
}

const textOf = ({ lastMs, number, node }: Place): string => `${lastMs}.${number}.${node}`;

function placeOf(text: string): Place | undefined {
  const [, lastMs, number, node] = /^(\d{1,15})\.(\d{1,15})\.(.+)$/.exec(text) ?? [];
  const found = place().safeParse({ lastMs: Number(lastMs), number: Number(number), node });
  return found.success ? found.data : undefined;
}
