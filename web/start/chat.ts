/** The chat: a channel that this tab and others are in. */
import { Calls, isSignal } from "./call.ts";
import { $, h, messageOf } from "./dom.ts";
import { type Handlers, type StateKind, Wire } from "./wire.ts";

const ROSTER_DUE_MS = 2000;
const MESSAGES_MAX = 200;

/** Peers with a publishable key have a random UUID as their id: its beginning is enough here. */
const nameOf = (peerId: string): string => (/^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(peerId) ? peerId.slice(0, 4) : peerId);

export class Chat {
  private wire: Wire | undefined;
  private channel = "";
  private rosterDue: ReturnType<typeof setTimeout> | undefined;
  /** The others in the channel, by peer id. */
  private readonly others = new Set<string>();
  private readonly calls = new Calls({
    ownId: () => this.wire?.peerId,
    others: () => this.others,
    nameOf,
    send: (to, data) => this.request({ type: "send", to, data }),
  });

  constructor() {
    $("say").addEventListener("submit", (event) => {
      event.preventDefault();
      void this.say($<HTMLInputElement>("text"));
    });
  }

  /** Leaves the present channel and enters another. Without a key the page says how to get one. */
  enter(key: string, channel: string): void {
    this.wire?.close();
    this.calls.end("");
    this.channel = channel;
    this.wire = new Wire(key, this.handlers);
    showState("wait", "Connecting …");
    if (key) this.wire.connect();
    else
      showState(
        "bad",
        "This page has no key. It knows a key only if the application demo has one for every origin, and only on the server's own machine. Enter a key:",
      );
    this.showRoster();
  }

  private readonly handlers: Handlers = {
    state: showState,
    error: ({ message }) => softNote(message),
    lost: () => {
      clearTimeout(this.rosterDue);
      this.others.clear();
      this.showRoster();
      // Last: showing the roster would replace why the call has ended.
      this.calls.connectionLost();
    },
    welcome: () => void this.subscribe(),
    message: ({ from, data }) => note(h("b", {}, nameOf(from)), " ", textOf(data)),
    presence: ({ joined, left, snapshot }) => {
      clearTimeout(this.rosterDue);
      for (const { peerId } of joined) this.others.add(peerId);
      for (const { peerId } of left) this.others.delete(peerId);
      if (!snapshot) for (const { peerId } of joined) softNote(`${nameOf(peerId)} has joined.`);
      for (const { peerId } of left) softNote(`${nameOf(peerId)} has left.`);
      this.showRoster();
      this.calls.rosterChanged();
    },
    direct: ({ from, data }) => {
      if (isSignal(data)) this.calls.receive(from, data);
    },
  };

  private request(frame: object): Promise<void> {
    return this.wire?.request(frame) ?? Promise.reject(new Error("Not connected."));
  }

  private async subscribe(): Promise<void> {
    const { wire } = this;
    try {
      await this.request({ type: "subscribe", channel: this.channel });
      showState("good", `Connected as ${nameOf(wire?.peerId ?? "")}.`);
      $<HTMLDetailsElement>("settings").open = false;
      const hidden = "not visible: the key lacks the action presence";
      this.rosterDue = setTimeout(() => this.showRoster(hidden), ROSTER_DUE_MS);
    } catch (error) {
      if (wire?.peerId) showState("bad", messageOf(error));
    }
  }

  private async say(field: HTMLInputElement): Promise<void> {
    const text = field.value.trim();
    if (!text) return;
    field.value = "";
    try {
      await this.request({ type: "publish", channel: this.channel, data: { text } });
      note(h("b", {}, "you"), " ", text);
    } catch (error) {
      softNote(`Not sent: ${messageOf(error)}`);
      field.value ||= text;
    }
  }

  private showRoster(text?: string): void {
    const ownId = this.wire?.peerId;
    const names = ownId ? [`${nameOf(ownId)} (you)`, ...[...this.others].map(nameOf)] : [];
    $("roster").textContent = text ?? (names.join(", ") || "no one yet");
    this.calls.draw();
  }
}

const textOf = (data: unknown): string =>
  typeof data === "object" && data !== null && "text" in data && typeof data.text === "string"
    ? data.text
    : JSON.stringify(data);

function note(...parts: (Node | string)[]): void {
  const messages = $("messages");
  const isAtEnd = messages.scrollHeight - messages.scrollTop - messages.clientHeight < 40;
  messages.append(h("p", {}, ...parts));
  while (messages.children.length > MESSAGES_MAX) messages.firstElementChild?.remove();
  if (isAtEnd) messages.scrollTop = messages.scrollHeight;
}

const softNote = (text: string): void => note(h("span", { class: "muted" }, text));

function showState(kind: StateKind, text: string): void {
  $("state").className = `state ${kind}`;
  $("state").textContent = text;
  if (kind === "bad") $<HTMLDetailsElement>("settings").open = true;
}
