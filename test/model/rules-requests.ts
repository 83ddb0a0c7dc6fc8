/** The frames of connections in a world with channel rules, and what the model expects of them. */
import { CHANNEL_CHOICES, type Choices } from "./acts.ts";
import { type Connection, covers, may, type Start } from "./model.ts";
import { Requests } from "./requests.ts";
import { IDS, REWINDS, STARTS, STATES } from "./rules-acts.ts";

const NONSENSE = ["abc.1.def", "not a position", "0.0.0", ""] as const;

export class RulesRequests extends Requests {
  private states = 0;

  override subscribe(connection: Connection, choices: Choices): void {
    const channel = choices.of(CHANNEL_CHOICES);
    this.subscribeFrom(connection, channel, choices, choices.of([false, true]));
  }

  /** One that asks for states, or for a replay, as the choices say. */
  subscribeFrom(connection: Connection, channel: string, choices: Choices, withMetadata: boolean): void {
    const known = connection.subscriptions.get(channel);
    // An expired connection is closed by any frame, so one must be sent.
    if (known && !known.acked && !connection.mustClose) return;
    const wantsStates = choices.number() % 2 === 0;
    const start = this.startOf(connection, channel, choices);
    const fields = { ...(wantsStates && { state: true }), ...(start && frameOf(start)) };
    this.subscribeTo(connection, channel, withMetadata, { fields, start: known ? undefined : start, wantsStates });
  }

  private startOf({ app, peerId }: Connection, channel: string, choices: Choices): Start | undefined {
    const kind = choices.of(STARTS);
    const number = choices.number();
    if (kind === "plain") return undefined;
    if (kind === "rewind") return { kind, count: REWINDS[number % REWINDS.length] ?? 1 };
    const { saved } = this.context.histories;
    const usable = saved.filter((one) => one.app === app && one.channel === channel);
    const mine = usable.filter((one) => one.peerId === peerId);
    const from = kind === "recover own" && mine.length > 0 ? mine.at(-1) : usable[number % Math.max(1, usable.length)];
    if (kind === "nonsense" || !from)
      return { kind: "recover", position: NONSENSE[number % NONSENSE.length] ?? "", connection: undefined };
    const connection = kind === "recover own" || number % 2 === 0 ? from.connection : undefined;
    return { kind: "recover", position: from.position, connection };
  }

  /** Behind the position that an earlier connection of the peer had reached. */
  recover(connection: Connection, channel: string, start: Start, wantsStates: boolean): void {
    const fields = { ...(wantsStates && { state: true }), ...frameOf(start) };
    this.subscribeTo(connection, channel, false, { fields, start, wantsStates });
  }

  /** To a channel with history, before the connection or its node ends. */
  publishLast(connection: Connection, channel: string, choices: Choices): void {
    this.publishStored(connection, channel, choices);
  }

  /** An id that may have been used before, by this peer or another. */
  protected override idFor(choices: Choices, number: number): string | undefined {
    const id = choices.of(IDS);
    return id === "new" ? `m${number}` : id;
  }

  /** Mostly one that the connection has subscribed to. */
  private ownChannel({ subscriptions }: Connection, choices: Choices): string {
    const number = choices.number();
    const own = [...subscriptions.keys()];
    return (number % 5 > 0 && own[number % Math.max(1, own.length)]) || (CHANNEL_CHOICES[number % 3] ?? "");
  }

  state(connection: Connection, choices: Choices): void {
    const channel = this.ownChannel(connection, choices);
    const json = choices.of(STATES) === "null" ? "null" : `{"s":${++this.states}}`;
    const subscription = connection.subscriptions.get(channel);
    const isRefused = !may(connection, "presence") || !covers(connection, channel);
    this.context.states.sent(connection, channel, json);
    this.request(
      connection,
      { type: "state", channel, state: JSON.parse(json) },
      {
        expect: may(connection, "presence") ? (isRefused ? "channel_not_authorized" : "ack") : "action_not_permitted",
        ...(subscription && { subscription }),
        channel,
        state: json,
        sentMs: this.context.nowMs(),
      },
    );
  }
}

const frameOf = (start: Start): Readonly<Record<string, unknown>> =>
  start.kind === "rewind"
    ? { rewind: start.count }
    : { recover: start.position, ...(start.connection !== undefined && { connection: start.connection }) };
