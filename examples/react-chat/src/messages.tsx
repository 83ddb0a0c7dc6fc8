import type { Message } from "parley-client";
import type { Entry } from "parley-client/react";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import type { Person, Text } from "./wire.ts";

interface Props {
  readonly entries: readonly Entry<Text>[];
  /** `undefined`: there are none. */
  readonly earlier: (() => Promise<void>) | undefined;
}

/** Nearer to the end than this, the list follows new messages. */
const NEAR_PX = 40;
/** Messages of one person that follow each other within this time have one heading. */
const TOGETHER_MS = 60_000;

export function Messages({ entries, earlier }: Props) {
  const list = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const height = useRef(0);
  const before = useRef<{ firstKey: number | undefined; height: number }>({ firstKey: undefined, height: 0 });
  useLayoutEffect(() => {
    const { current: box } = list;
    if (!box) return;
    const firstKey = entries[0]?.key;
    const { firstKey: oldKey, height } = before.current;
    // Earlier messages were put in front: what was seen stays where it is.
    if (oldKey !== undefined && firstKey !== undefined && firstKey < oldKey) box.scrollTop += box.scrollHeight - height;
    else if (isAtEnd.current) box.scrollTop = box.scrollHeight;
    before.current = { firstKey, height: box.scrollHeight };
  }, [entries]);
  // It becomes smaller when something appears above or below it, such as the keyboard of a phone.
  useEffect(() => {
    const { current: box } = list;
    if (!box) return;
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current) box.scrollTop = box.scrollHeight;
      height.current = box.clientHeight;
    });
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  return (
    <div
      className="messages"
      role="log"
      aria-label="Messages"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it.
      tabIndex={0}
      ref={list}
      onScroll={({ currentTarget: box }) => {
        // After a change of its height it is moved back to the end; this is not a person who scrolls.
        if (box.clientHeight !== height.current) return;
        isAtEnd.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_PX;
      }}
    >
      {entries.length > 0 && earlier && <Earlier load={earlier} />}
      {entries.length === 0 && <p className="quiet">No messages yet. Say hello.</p>}
      <ol>
        {entries.map((entry, at) =>
          entry.gap ? (
            <li key={entry.key} className="gap">
              {entry.gap.reason === "no_history"
                ? "Messages sent while you were away were not stored and are missing here."
                : "You were away for too long: messages are missing here."}
            </li>
          ) : (
            <Line key={entry.key} entry={entry} isMore={isTogether(entries[at - 1]?.message, entry.message)} />
          ),
        )}
      </ol>
    </div>
  );
}

const isTogether = (before: Message<Text> | undefined, { from, time = 0 }: Message<Text>) =>
  before?.from === from && time - (before.time ?? 0) < TOGETHER_MS;

interface LineProps {
  readonly entry: Extract<Entry<Text>, { isOwn: boolean }>;
  readonly isMore: boolean;
}

function Line({ entry: { message, isOwn }, isMore }: LineProps) {
  const { from, fromMetadata, data, time } = message;
  const name = isOwn ? "You" : ((fromMetadata as Person | undefined)?.name ?? from);
  return (
    <li className={`${isOwn ? "own" : ""} ${isMore ? "more" : ""}`}>
      <span className="who">
        <b>{name}</b> {time !== undefined && <Time ms={time} />}
      </span>
      <span className="text">{data.text}</span>
    </li>
  );
}

function Time({ ms }: { ms: number }) {
  const date = new Date(ms);
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString()}>
      {date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}
    </time>
  );
}

function Earlier({ load }: { load: () => Promise<void> }) {
  const [state, setState] = useState<"idle" | "busy" | "failed">("idle");
  const click = async () => {
    setState("busy");
    await load().then(
      () => setState("idle"),
      () => setState("failed"),
    );
  };
  return (
    <p className="earlier">
      <button type="button" className="plain" onClick={click} disabled={state === "busy"}>
        {state === "failed" ? "That has failed. Try again" : "Load earlier messages"}
      </button>
    </p>
  );
}
