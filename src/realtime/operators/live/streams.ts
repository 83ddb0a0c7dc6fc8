/** Who reads a stream now, over all nodes: readers over HTTP and subscribers. Each has its connection on one node, so they are added up. */
import { z } from "zod";
import { asSpaceId, type SpaceId } from "../../../base/ids.ts";
import { type Infer, lazily } from "../../../base/lazily.ts";
import type { NodeRequests } from "../../../engine/node-requests.ts";
import { CHANNEL_MAX_BYTES } from "../../../protocol/limits.ts";
import type { Spaces } from "../../state/spaces.ts";

const count = lazily(() => z.int().min(0));
const audience = lazily(() => z.object({ readers: count(), subscribers: count() }));
const request = lazily(() =>
  z.object({ app: z.string().max(128).transform(asSpaceId), channel: z.string().max(CHANNEL_MAX_BYTES) }),
);

type Audience = Infer<typeof audience>;

const AUDIENCE = "stream audience";

interface LiveStreamsParts {
  readonly spaces: Spaces;
  readonly nodeRequests: NodeRequests;
}

export class LiveStreams {
  constructor(private readonly parts: LiveStreamsParts) {
    parts.nodeRequests.onRequest(AUDIENCE, (payload) => this.local(request().parse(payload)));
  }

  /** `isComplete`: every node has responded. */
  async audience(app: SpaceId, channel: string): Promise<Audience & { readonly isComplete: boolean }> {
    const { answers, isComplete } = await this.parts.nodeRequests.gather(AUDIENCE, { app, channel }, (value) =>
      audience().parse(value),
    );
    const sum = (of: keyof Audience): number => answers.reduce((total, one) => total + one[of], 0);
    return { readers: sum("readers"), subscribers: sum("subscribers"), isComplete };
  }

  private local({ app, channel: name }: Infer<typeof request>): Audience {
    const channel = this.parts.spaces.channel(app, name);
    if (!channel) return { readers: 0, subscribers: 0 };
    let readers = 0;
    for (const { readerCount = 1 } of channel.followers ?? []) readers += readerCount;
    return { readers, subscribers: channel.subscribers + channel.replaying };
  }
}
