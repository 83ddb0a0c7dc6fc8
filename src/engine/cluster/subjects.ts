/**
 * Subjects. Whatever a name holds becomes one token: base64url has neither dots nor wildcards. The prefix separates
 * installations that share one NATS.
 */
const token = (name: string): string => Buffer.from(name, "utf8").toString("base64url");

export class Subjects {
  constructor(
    private readonly prefix: string,
    private readonly self: string,
  ) {}

  /** What every node hears: beats, farewells, questions to all. */
  get all(): string {
    return `${this.prefix}.all`;
  }

  /** Questions to one node. */
  node(id: string): string {
    return `${this.prefix}.node.${token(id)}`;
  }

  /** Where answers to this node come in; the last token is the number of the question. */
  answer(question: number): string {
    return `${this.answersTo(this.self)}.${question}`;
  }

  get answers(): string {
    return `${this.answersTo(this.self)}.*`;
  }

  /** A channel's lane: messages and members of it, each node's in its order. */
  lane(app: string, channel: string): string {
    return `${this.prefix}.lane.${token(app)}.${token(channel)}`;
  }

  /** Direct messages to one peer. */
  peer(app: string, peerId: string): string {
    return `${this.prefix}.peer.${token(app)}.${token(peerId)}`;
  }

  private answersTo(id: string): string {
    return `${this.prefix}.answer.${token(id)}`;
  }
}

/** Of an answer's subject. */
export const questionOf = (subject: string): number => Number(subject.slice(subject.lastIndexOf(".") + 1));
