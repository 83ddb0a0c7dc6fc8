/** What connections say, and who must hear it. */
import { CHANNEL_CHOICES, type Choices, PEERS } from "./acts.ts";
import { nameOf } from "./ears.ts";
import type { Stage } from "./stage.ts";
import { covers, giveUp, type Held, isShown, type Line, may, type Request, type Word } from "./truth.ts";
import type { Watch } from "./watch.ts";

export class Talk {
  constructor(
    private readonly stage: Stage,
    private readonly watch: Watch,
  ) {}

  private request(line: Line, frame: Readonly<Record<string, unknown>>, request: Request): void {
    const requestId = `r${++line.requests}`;
    line.unanswered.set(requestId, request);
    this.stage.note(`${nameOf(line)} ${requestId} ${JSON.stringify(frame)}`);
    line.socket.message(JSON.stringify({ ...frame, requestId }));
  }

  /** Without a request id there is no ack, but errors are still sent. */
  private tell(line: Line, frame: Readonly<Record<string, unknown>>, expect: string): void {
    if (expect !== "ack") line.errors.push(expect);
    this.stage.note(`${nameOf(line)} ${JSON.stringify(frame)}`);
    line.socket.message(JSON.stringify(frame));
  }

  subscribe(line: Line, choices: Choices): void {
    this.subscribeTo(line, choices.of(CHANNEL_CHOICES), choices.of([false, true]));
  }

  subscribeTo(line: Line, channel: string, includeSenderMetadata: boolean): void {
    const frame = { type: "subscribe", channel, ...(includeSenderMetadata && { includeSenderMetadata }) };
    const refusal = this.refusal(line, "subscribe", channel);
    if (refusal || line.mustClose) return this.request(line, frame, { expect: refusal ?? "" });
    const held: Held = line.held.get(channel) ?? {
      channel,
      afterWord: this.stage.words.size,
      wantsMetadata: false,
      presence: false,
      acked: false,
      ackedAfterMs: 0,
      ackedMs: 0,
      picture: undefined,
      rosterMs: Number.POSITIVE_INFINITY,
      wasKnown: false,
      isTaken: false,
      gate: 0,
    };
    line.held.set(channel, held);
    held.wantsMetadata = includeSenderMetadata;
    held.presence ||= may(line, "presence");
    this.request(line, frame, { expect: "ack", held });
  }

  unsubscribe(line: Line, choices: Choices): void {
    this.unsubscribeFrom(line, choices.of(CHANNEL_CHOICES));
  }

  unsubscribeFrom(line: Line, channel: string): void {
    giveUp(line, channel);
    this.request(line, { type: "unsubscribe", channel }, { expect: "ack" });
  }

  private refusal(line: Line, action: "subscribe" | "publish", channel: string): string | undefined {
    if (!may(line, action)) return "action_not_permitted";
    return covers(line, channel) ? undefined : "channel_not_authorized";
  }

  private say(word: Omit<Word, "atMs">): number {
    const number = this.stage.words.size + 1;
    this.stage.words.set(number, { ...word, atMs: this.stage.nowMs() });
    return number;
  }

  publish(line: Line, choices: Choices): void {
    const channel = choices.of(CHANNEL_CHOICES);
    const number = this.say({ line, channel, to: undefined, wasMember: isShown(line, channel) });
    const expect = this.refusal(line, "publish", channel) ?? "ack";
    const receivers = this.stage.open.filter(
      (other) => other !== line && other.app === line.app && other.held.get(channel)?.acked,
    );
    const isHeard = expect === "ack" && !line.mustClose;
    if (isHeard) for (const other of receivers) other.owed.set(number, channel);
    const frame = { type: "publish", channel, data: { n: number } };
    if (choices.number() % 8 === 7) this.tell(line, frame, expect);
    else this.request(line, frame, { expect });
    if (isHeard) this.watch.mustHaveHeard(line, receivers, number);
  }

  send(line: Line, choices: Choices): void {
    const { open } = this.stage;
    const near = open.filter((one) => one.app === line.app);
    const to = choices.of([choices.of(PEERS), ...near.map((one) => one.peerId)]);
    const number = this.say({ line, channel: undefined, to, wasMember: false });
    const frame = { type: "send", to, data: { n: number } };
    if (!may(line, "send") || line.mustClose) return this.request(line, frame, { expect: "action_not_permitted" });
    const targets = open.filter((other) => other !== line && other.app === line.app && other.peerId === to);
    for (const other of targets) other.owed.set(number, "");
    this.request(line, frame, { expect: "sent", word: number, targets });
    this.watch.mustHaveHeard(line, targets, number);
  }
}
