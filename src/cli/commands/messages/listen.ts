/** `parley listen`: prints the messages of channels until it is interrupted. */
import { randomBytes } from "node:crypto";
import { history } from "../../../../client/src/history.ts";
import { type Channel, type Gap, ParleyError } from "../../../../client/src/index.ts";
import { hasColours } from "../../../base/colours.ts";
import { DURATION_FORMS } from "../../../base/duration.ts";
import { REPLAY_MAX_MESSAGES } from "../../../protocol/limits.ts";
import { TALK_PEER_ID } from "../../line/defaults.ts";
import { UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { LineWriter } from "../../terminal/line-writer.ts";
import { asJsonLine, type Heard, ListenText } from "./listen-lines.ts";
import { channelName, connect, note, noteTroubles, type Talk } from "./talk.ts";

/** What reads the output may have stopped reading. */
const LAST_LINES_MAX_MS = 2000;
/** The service may not answer the goodbye. */
const GOODBYE_MAX_MS = 2000;

/** A gap means that messages may be missing: the service does not know how many were published meanwhile. */
function gapText(name: string, reason: Gap["reason"], hadHistory: boolean): string {
  const what = `messages on ${name} may be missing`;
  if (reason === "no_history") return `${what}: the channel has no history`;
  if (hadHistory) return `${what}: too many were published, or its history started over`;
  return `${name} has history from now on; messages published earlier may be missing`;
}

export async function listen(input: Input): Promise<undefined> {
  const names = [...new Set(input.operands.map(channelName))];
  const rewind = rewindOf(input);
  const count = input.whole("count");
  if (count === 0) throw new UsageError("--count must be at least 1");
  const withPresence = input.isOn("presence");
  const talk = await connect(input, {
    channels: names,
    // Each listener is a peer of its own, which direct messages can be sent to.
    peerId: `${TALK_PEER_ID}-${randomBytes(3).toString("hex")}`,
    permissions: withPresence ? ["subscribe", "presence"] : ["subscribe"],
  });
  const listener = new Listener(talk, input, names, count);
  try {
    for (const name of names) {
      const channel = talk.client.channel(name, {
        senderMetadata: input.isOn("json"),
        ...(rewind !== undefined && { rewind }),
      });
      listener.listen(channel, { withPresence, asksForHistory: rewind !== undefined });
    }
    await Promise.race([listener.ended, talk.ended]);
  } finally {
    talk.client.close();
    await Promise.race([listener.writer.done(), Bun.sleep(LAST_LINES_MAX_MS)]);
  }
  setTimeout(() => process.exit(0), GOODBYE_MAX_MS).unref();
  return undefined;
}

function rewindOf(input: Input): number | string | undefined {
  const text = input.text("history");
  if (text === undefined || /^\d+[smh]$/.test(text)) return text;
  // The protocol has no days.
  const days = /^(\d{1,4})d$/.exec(text)?.[1];
  if (days !== undefined) return `${Number(days) * 24}h`;
  const messages = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (messages < 1 || messages > REPLAY_MAX_MESSAGES)
    throw new UsageError(
      `--history is ${JSON.stringify(text)}; it must be 1 to ${REPLAY_MAX_MESSAGES} messages, or a time such as ${DURATION_FORMS}`,
    );
  return messages;
}

class Listener {
  readonly writer = new LineWriter(Bun.stdout);
  private readonly end = Promise.withResolvers<void>();
  /** Resolves when it is interrupted or has printed enough; rejects if it cannot go on. */
  readonly ended = this.end.promise;
  private readonly isJson: boolean;
  private readonly text: ListenText;
  private readonly notSubscribed: Set<string>;
  private printed = 0;

  constructor(
    private readonly talk: Talk,
    input: Input,
    private readonly names: readonly string[],
    private readonly count = Number.POSITIVE_INFINITY,
  ) {
    this.isJson = input.isOn("json");
    this.text = new ListenText(names, hasColours(process.stdout, input.env));
    this.notSubscribed = new Set(names);
    for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => this.end.resolve());
    noteTroubles(talk);
    talk.client.on("direct", (direct) => this.print({ type: "direct", direct }));
  }

  listen(channel: Channel, { withPresence, asksForHistory }: { withPresence: boolean; asksForHistory: boolean }): void {
    const { name } = channel;
    channel.on("message", (message) => this.print({ type: "message", message }));
    let isFirst = true;
    let hasGap = false;
    let hadHistory = false;
    channel.on("subscribed", ({ recovered, replay }) => {
      isFirst = this.notSubscribed.delete(name);
      hasGap = false;
      // Only what had a history before can fail to be recovered. A channel without one is subscribed to anew.
      hadHistory = recovered === false;
      if (isFirst) return void this.begun(channel, asksForHistory && replay === 0);
      // A gap is emitted right behind this event.
      queueMicrotask(() => {
        if (!hasGap) void note(`reconnected; nothing is missing on ${name} (${replay} published in the meantime)`);
      });
    });
    channel.on("gap", ({ reason }) => {
      hasGap = true;
      void note(`${isFirst ? "" : "reconnected; "}${gapText(name, reason, hadHistory)}`);
      this.print({ type: "gap", channel: name, reason });
    });
    channel.on("error", (error) => {
      // The end of the client is reported as such, not per channel.
      if (this.talk.client.status.state !== "closed")
        this.end.reject(this.talk.failure(new ParleyError(error.code, `${name}: ${error.message}`)));
    });
    if (!withPresence) return;
    channel.presence.on("joined", (member) => this.print({ type: "joined", channel: name, member }));
    channel.presence.on("left", (member) => this.print({ type: "left", channel: name, member }));
  }

  private print(heard: Heard): void {
    if (this.printed >= this.count) return;
    try {
      this.writer.add(this.isJson ? asJsonLine(heard) : this.text.of(heard));
    } catch (error) {
      this.end.reject(error);
    }
    if (heard.type === "message" || heard.type === "direct") this.printed++;
    if (this.printed >= this.count) this.end.resolve();
  }

  /** The first subscription of a channel. */
  private async begun(channel: Channel, isWithoutMessages: boolean): Promise<void> {
    if (this.notSubscribed.size === 0 && !this.isJson) {
      const { client, origin } = this.talk;
      await note(`listening to ${this.names.join(", ")} at ${origin} as ${client.peerId}; press Ctrl-C to stop`);
    }
    if (!isWithoutMessages) return;
    const page = await history(channel, { limit: 1 }).catch(() => undefined);
    if (page && page.pos === undefined)
      await note(`${channel.name} has no history; "parley apps rules APP" shows which channels do`, this.talk.flags);
  }
}
