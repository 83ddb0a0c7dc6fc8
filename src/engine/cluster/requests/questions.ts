/**
 * Questions to all nodes for the state of one channel: clients that return by the thousand cause one each. Those of one turn of the event
 * loop travel as one request, and each node answers them with one response. Nodes of all versions understand that. What a node has not
 * answered is asked again by itself: a channel whose state cannot be read must not keep others without theirs.
 */
import type { SpaceId } from "../../../base/ids.ts";
import type { FailureBoundary } from "../nodes/failure-boundary.ts";
import type { NodeRequest, NodeResponse, SequenceState } from "../wire/messages.ts";
import { chunksOf, jsonBytes } from "../wire/payload.ts";

type ChannelName = readonly [spaceId: SpaceId, channel: string];
type Responses = ReadonlyMap<string, NodeResponse>;
type SequencesRequest = Extract<NodeRequest, { kind: "sequences" }>;

interface Question {
  readonly channel: ChannelName;
  /** Gets the responses by node name, with this channel only. */
  readonly done: (responses: Responses) => void;
}

interface QuestionsParts {
  readonly send: (request: SequencesRequest, done: (responses: Responses) => void) => void;
  readonly boundary: Pick<FailureBoundary, "run" | "markStale">;
}

export class Questions {
  /** Bound: questions of one turn, one per channel that is subscribed to in it. */
  private waiting: Question[] = [];

  constructor(private readonly parts: QuestionsParts) {}

  ask(channel: ChannelName, done: Question["done"]): void {
    if (this.waiting.length === 0) setImmediate(this.endTurn);
    this.waiting.push({ channel, done });
  }

  private readonly endTurn = (): void => {
    const { send, boundary } = this.parts;
    const { waiting } = this;
    this.waiting = [];
    for (const some of chunksOf(waiting, ({ channel }) => jsonBytes(channel)))
      boundary.run(
        { in: "questions" },
        () => {
          const channels = some.map(({ channel }) => channel);
          send({ kind: "sequences", channels }, (responses) => this.answer(some, responses));
        },
        () => boundary.markStale(),
      );
  };

  /** Each has its own boundary: an error in one must not keep the others from their answers. */
  private answer(questions: readonly Question[], responses: Responses): void {
    const { boundary } = this.parts;
    const byNode =
      questions.length === 1 ? undefined : [...responses].map(([node, one]) => [node, byChannel(one)] as const);
    for (const { channel, done } of questions)
      boundary.run(
        { in: "questions" },
        () => done(byNode ? new Map(byNode.map(([node, states]) => [node, responseFor(states, channel)])) : responses),
        () => boundary.markStale(),
      );
  }
}

type States = ReadonlyMap<string, readonly SequenceState[]>;

const key = (spaceId: SpaceId, channel: string): string => `${spaceId} ${channel}`;

const byChannel = (response: NodeResponse): States =>
  Map.groupBy(response.kind === "sequences" ? response.sequences : [], ({ app, channel }) => key(app, channel));

const responseFor = (states: States, channel: ChannelName): NodeResponse => ({
  kind: "sequences",
  sequences: states.get(key(...channel)) ?? [],
});
