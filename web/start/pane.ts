/** One person of the demo: a connection of its own, who else is there, messages, and calls. */
import { Calls, isSignal } from "./call.ts";
import { button, h, messageOf } from "./dom.ts";
import { lookNow } from "./health.ts";
import { avatar, keepName, NAME_MAX_CHARS, named, type Person, personOf, readable } from "./people.ts";
import { type Handlers, type StateKind, Wire } from "./wire.ts";

const ROSTER_DUE_MS = 2000;
/** A member says its name right after it joins. */
const NAME_DUE_MS = 700;
const MESSAGES_MAX = 200;

interface Member {
  state?: unknown;
  /** Until the log says that it joined. */
  joining?: ReturnType<typeof setTimeout>;
}

export interface PaneOptions {
  readonly key: string;
  readonly channel: string;
  /** Which of the tab's two people. */
  readonly slot: string;
  readonly name: string;
  /** How many are in the channel, this person too. */
  readonly counted?: (people: number) => void;
}

export class Pane {
  private wire: Wire | undefined;
  private rosterDue: ReturnType<typeof setTimeout> | undefined;
  /** The others in the channel, by peer id. Bound: the members that the service names. */
  private readonly others = new Map<string, Member>();
  private isAnnounced = false;
  private isAtEnd = true;
  private kind: StateKind | undefined;
  name: string;
  private readonly face = h("span", { class: "face" });
  private readonly connection = h("span", { class: "state", role: "status" }, "Connecting …");
  private readonly people = h("ul", { class: "people", "aria-label": "Online" });
  private readonly messages = h("div", { class: "messages", role: "log", tabindex: "0", "aria-label": "Messages" });
  private readonly saying = this.sayForm();
  private readonly calls = new Calls({
    ownId: () => this.wire?.peerId,
    isHere: (peerId) => this.others.has(peerId),
    nameOf: (peerId) => this.personOf(peerId).name,
    send: (to, data) => this.request({ type: "send", to, data }),
    changed: () => {
      this.tellState();
      this.showPeople();
    },
    note: (text) => this.note(text),
  });

  constructor(
    place: HTMLElement,
    private readonly options: PaneOptions,
  ) {
    this.name = options.name;
    place.replaceChildren(
      h("header", {}, this.face, this.nameField(), this.connection),
      this.people,
      this.calls.box,
      this.messages,
      this.saying,
    );
    this.showFace();
    this.showPeople();
    this.keepAtEnd();
    this.wire = new Wire(options.key, this.handlers);
    this.wire.connect();
  }

  leave(): void {
    this.calls.end("");
    this.wire?.close();
    this.wire = undefined;
  }

  private readonly handlers: Handlers = {
    connection: (kind, text) => this.showConnection(kind, text),
    error: ({ message }) => this.note(message),
    lost: () => {
      clearTimeout(this.rosterDue);
      this.isAnnounced = false;
      for (const { joining } of this.others.values()) clearTimeout(joining);
      // A call that still negotiates ends with the others' names.
      this.calls.connectionLost();
      this.others.clear();
      this.showPeople();
    },
    welcome: () => void this.subscribe(),
    message: ({ from, data }) =>
      this.add("message", named(this.personOf(from).name, "b"), " ", h("span", {}, textOf(data))),
    presence: ({ joined, left, snapshot }) => {
      clearTimeout(this.rosterDue);
      for (const { peerId, state } of joined) this.joined(peerId, state, snapshot === true);
      for (const { peerId } of left) this.left(peerId);
      if (snapshot) {
        this.isAnnounced = true;
        this.tellState();
      }
      this.showPeople();
      this.calls.rosterChanged();
    },
    state: ({ changed }) => {
      for (const { peerId, state } of changed) {
        const member = this.others.get(peerId);
        if (!member) continue;
        member.state = state;
        this.announce(peerId, member);
      }
      this.showPeople();
      this.calls.draw();
    },
    direct: ({ from, data }) => {
      if (isSignal(data)) this.calls.receive(from, data);
    },
  };

  // The channel

  private request(frame: object): Promise<void> {
    return this.wire?.request(frame) ?? Promise.reject(new Error("Not connected."));
  }

  private async subscribe(): Promise<void> {
    const { wire } = this;
    try {
      await this.request({ type: "subscribe", channel: this.options.channel, state: true });
      this.showConnection("good", "Connected");
      this.rosterDue = setTimeout(() => {
        this.people.replaceChildren(
          h("li", { class: "muted" }, "Who is online is hidden: the key lacks the action presence."),
        );
      }, ROSTER_DUE_MS);
    } catch (error) {
      if (wire?.peerId) this.showConnection("bad", messageOf(error));
    }
  }

  /** Others see it beside the name. A key without the action presence may not set it, and needs not. */
  private tellState(): void {
    if (!this.isAnnounced) return;
    const state = { name: this.name, ...(!this.calls.isFree && { busy: true }) };
    this.request({ type: "state", channel: this.options.channel, state }).catch(() => undefined);
  }

  private joined(peerId: string, state: unknown, isSnapshot: boolean): void {
    const member: Member = { state };
    this.others.set(peerId, member);
    if (!isSnapshot) member.joining = setTimeout(() => this.announce(peerId, member), NAME_DUE_MS);
  }

  private announce(peerId: string, member: Member): void {
    if (member.joining === undefined) return;
    clearTimeout(member.joining);
    delete member.joining;
    this.note(named(this.personOf(peerId).name), " joined.");
  }

  private left(peerId: string): void {
    const { name } = this.personOf(peerId);
    clearTimeout(this.others.get(peerId)?.joining);
    this.others.delete(peerId);
    this.note(named(name), " left.");
  }

  private async say(field: HTMLInputElement): Promise<void> {
    const text = field.value.trim();
    if (!text) return;
    field.value = "";
    const sentAt = performance.now();
    try {
      await this.request({ type: "publish", channel: this.options.channel, data: { text } });
      const took = `${(performance.now() - sentAt).toFixed(1)} ms`;
      const time = h("small", { class: "muted", title: "Until the service confirmed it" }, took);
      this.add("message own", h("b", { class: "hidden-text" }, "You"), " ", h("span", {}, text), " ", time);
    } catch (error) {
      this.note(`Not sent: ${messageOf(error)}`);
      field.value ||= text;
    }
  }

  // What is shown

  private personOf(peerId: string): Person {
    return personOf(peerId, this.others.get(peerId)?.state);
  }

  private nameField(): HTMLElement {
    const field = h("input", { class: "name", "aria-label": "Your name", autocomplete: "off", spellcheck: "false" });
    field.maxLength = NAME_MAX_CHARS;
    field.value = this.name;
    field.addEventListener("change", () => {
      this.name = readable(field.value) || this.name;
      field.value = keepName(this.options.slot, this.name);
      this.showFace();
      this.tellState();
    });
    field.addEventListener("keydown", ({ key }) => {
      if (key !== "Enter") return;
      field.blur();
      // On a phone its keyboard closes, too.
      if (!matchMedia("(pointer: coarse)").matches) field.focus();
    });
    return field;
  }

  private sayForm(): HTMLFormElement {
    const text = h("input", {
      "aria-label": "Message",
      placeholder: "Message",
      autocomplete: "off",
      maxlength: "2000",
    });
    const form = h("form", { class: "row" }, text, h("button", { class: "primary" }, "Send"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.say(text);
    });
    return form;
  }

  private showFace(): void {
    this.face.replaceChildren(avatar(this.name));
  }

  private showConnection(kind: StateKind, text: string): void {
    // The first time, the page has just looked.
    if (this.kind !== undefined && this.kind !== kind) lookNow();
    this.kind = kind;
    this.connection.className = `state dot ${kind}`;
    this.connection.textContent = this.connection.title = text;
    // After "bad" there is no further attempt: what cannot be sent is not offered.
    for (const part of this.saying.elements) (part as HTMLInputElement).disabled = kind === "bad";
  }

  /** Everyone else who is here, and whom of them one can call. */
  private showPeople(): void {
    const { people } = this;
    if (this.isAnnounced) this.options.counted?.(this.others.size + 1);
    const focused = people.contains(document.activeElement) ? document.activeElement?.textContent : undefined;
    people.replaceChildren(...[...this.others.keys()].map((peerId) => this.row(peerId)));
    if (this.others.size === 0)
      people.append(h("li", { class: "muted" }, this.isAnnounced ? "No one else is here yet." : ""));
    // The button that had the focus was replaced.
    if (focused) [...people.querySelectorAll("button")].find(({ textContent }) => textContent === focused)?.focus();
  }

  private row(peerId: string): HTMLElement {
    const { name, isBusy } = this.personOf(peerId);
    const row = h("li", {}, avatar(name), h("span", { class: "who", title: name }, named(name)));
    if (isBusy) row.append(h("span", { class: "badge" }, "In a call"));
    else if (this.calls.isFree) row.append(callButton(name, () => void this.calls.start(peerId)));
    return row;
  }

  private note(...parts: (Node | string)[]): void {
    this.add("note", ...parts);
  }

  private add(kind: string, ...parts: (Node | string)[]): void {
    const { messages } = this;
    messages.append(h("p", { class: kind }, ...parts));
    while (messages.children.length > MESSAGES_MAX) messages.firstElementChild?.remove();
    if (this.isAtEnd) messages.scrollTop = messages.scrollHeight;
  }

  /** A log that shows its newest message goes on doing so, also when a call takes room. */
  private keepAtEnd(): void {
    const { messages } = this;
    messages.addEventListener("scroll", () => {
      this.isAtEnd = messages.scrollHeight - messages.scrollTop - messages.clientHeight < 40;
    });
    new ResizeObserver(() => {
      if (this.isAtEnd) messages.scrollTop = messages.scrollHeight;
    }).observe(messages);
  }
}

function callButton(name: string, act: () => void): HTMLElement {
  const element = button("Call", act);
  element.append(h("span", { class: "hidden-text" }, ` ${name}`));
  return element;
}

const textOf = (data: unknown): string =>
  typeof data === "object" && data !== null && "text" in data && typeof data.text === "string"
    ? data.text
    : JSON.stringify(data);
