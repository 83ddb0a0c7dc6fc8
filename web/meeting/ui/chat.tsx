/** The chat: everything as text, and web addresses as links. */
import { signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { CHAT_MAX_CHARS } from "../../../src/protocol/chat-text.ts";
import { partsOf } from "../page/links.ts";
import type { ChatLine } from "../room/contract.ts";
import { unsent } from "../session/refusals.ts";
import { t, timeOfDay } from "../texts/texts.ts";
import { Icon } from "./icons.tsx";
import { Mark } from "./mark.tsx";
import { SidePanel } from "./panel.tsx";
import { panel, useVisit } from "./view.ts";

/** Nearer to the end than this: new messages are scrolled to. */
const AT_END_PX = 80;
/** Messages of one person within this time share one name. */
const TOGETHER_MS = 120_000;

/** Messages that came while the chat was closed. */
export const unread = signal(0);

/** The first of them: a line above it says that it is new, until the chat is closed. */
const firstUnread = signal<string | undefined>(undefined);

/** What is written and not sent yet; kept while the chat is closed. */
const draft = signal("");

/** Counts, also while the chat is not shown. */
export function useUnread(): void {
  const { session } = useVisit();
  const seen = useRef(new Set<string>());
  const lines = session.chat.value;
  const isOpen = panel.value === "chat";
  useEffect(() => {
    const me = session.me.value.participantSession;
    const fresh = lines.filter(({ id, from, isEarlier }) => !seen.current.has(id) && from !== me && !isEarlier);
    seen.current = new Set(lines.map(({ id }) => id));
    unread.value = isOpen ? 0 : unread.value + fresh.length;
    if (!isOpen) firstUnread.value ??= fresh[0]?.id;
  }, [lines, isOpen]);
  useEffect(
    () => () => {
      unread.value = 0;
      firstUnread.value = undefined;
      draft.value = "";
    },
    [],
  );
}

export function ChatPanel() {
  const { session } = useVisit();
  const list = useRef<HTMLOListElement>(null);
  const isAtEnd = useRef(true);
  const lines = session.chat.value;
  useLayoutEffect(() => {
    const element = list.current;
    if (element && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [lines]);
  useLayoutEffect(() => {
    // Many are unread: reading begins with the first of them.
    list.current?.querySelector(".line-new")?.scrollIntoView({ block: "center" });
    return () => {
      firstUnread.value = undefined;
    };
  }, []);
  const scrolled = (): void => {
    const element = list.current;
    if (element) isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < AT_END_PX;
  };
  return (
    <SidePanel title={t("chat")} focuses={session.may.value.chat}>
      {lines.length === 0 && <p class="panel-empty muted">{t("chatEmpty")}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls must be reachable by keyboard. */}
      <ol class="chat" ref={list} tabIndex={0} aria-label={t("chat")} onScroll={scrolled}>
        {lines.map((line, at) => (
          <Line
            key={line.id}
            line={line}
            isNew={line.id === firstUnread.value}
            isFollowing={line.id !== firstUnread.value && follows(line, lines[at - 1])}
          />
        ))}
      </ol>
      {session.may.value.chat ? <Writer /> : <p class="panel-empty muted">{t("chatOff")}</p>}
    </SidePanel>
  );
}

const follows = (line: ChatLine, before: ChatLine | undefined): boolean =>
  before !== undefined &&
  before.from === line.from &&
  before.name === line.name &&
  line.timeMs - before.timeMs < TOGETHER_MS;

interface LineProps {
  readonly line: ChatLine;
  readonly isNew: boolean;
  readonly isFollowing: boolean;
}

function Line({ line, isNew, isFollowing }: LineProps) {
  const { session } = useVisit();
  const isMe = line.from === session.me.value.participantSession;
  const isServer = line.from === undefined;
  const name = isServer ? t("fromServer") : isMe ? t("you") : line.name;
  return (
    <li class={["line", isServer && "line-server", isFollowing && "line-follows"].filter(Boolean).join(" ")}>
      {isNew && <p class="line-new">{t("newMessages")}</p>}
      <p class={isFollowing ? "hidden-text" : "line-head"}>
        <bdi class="line-name">{name}</bdi>
        {!isMe && !isServer && <Mark {...line} />}
        <time class="muted" dateTime={new Date(line.timeMs).toISOString()}>
          {timeOfDay(line.timeMs)}
        </time>
      </p>
      <p class="line-text" dir="auto">
        {partsOf(line.text).map(({ text, href }, at) =>
          href === undefined ? (
            text
          ) : (
            <a key={`${at} ${href}`} href={href} target="_blank" rel="noopener noreferrer nofollow">
              {text}
            </a>
          ),
        )}
      </p>
    </li>
  );
}

function Writer() {
  const visit = useVisit();
  const error = useSignal("");
  const isBusy = useSignal(false);
  const field = useRef<HTMLTextAreaElement>(null);
  // After the panel has noted where the focus was.
  useEffect(() => {
    const timer = setTimeout(() => field.current?.focus({ preventScroll: true }));
    return () => clearTimeout(timer);
  }, []);
  const isOnline = visit.session.isOnline.value;
  useEffect(() => {
    if (isOnline) error.value = "";
  }, [isOnline]);
  const send = async (event?: Event): Promise<void> => {
    event?.preventDefault();
    const written = draft.value.trim();
    if (written === "" || isBusy.value) return;
    isBusy.value = true;
    error.value = "";
    try {
      await visit.inside?.say(written);
      draft.value = "";
    } catch (cause) {
      error.value = t(unsent(cause));
    }
    isBusy.value = false;
    field.current?.focus();
  };
  return (
    <form class="writer" onSubmit={send}>
      <p role="alert" class="bad small">
        {error.value}
      </p>
      <div class="writer-row">
        <textarea
          ref={field}
          rows={1}
          value={draft.value}
          maxLength={CHAT_MAX_CHARS}
          aria-label={t("writeMessage")}
          placeholder={t("writeMessage")}
          dir="auto"
          onInput={(event) => (draft.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            // While a text is composed (Chinese, Japanese), Enter chooses a character.
            if (event.key === "Enter" && !event.shiftKey && !event.isComposing) void send(event);
          }}
        />
        <button type="submit" class="primary icon-button" aria-label={t("send")} title={t("send")}>
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}
