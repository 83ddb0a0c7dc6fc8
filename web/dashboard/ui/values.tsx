/** Small values: times, names in a fixed width, badges, and a button that copies. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { nowSeconds } from "../api/now.ts";
import { exactTime, relative } from "../text/format.ts";
import { toast } from "./notice.tsx";

interface TimeProps {
  readonly at: number | null | undefined;
  /** In place of "now". */
  readonly now?: string;
}

/** "3 min ago", with the exact time on hover. */
export function Time({ at, now = "now" }: TimeProps) {
  if (at === null || at === undefined) return <span class="muted">never</span>;
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={exactTime(at)}>
      {relative(at, nowSeconds.value, now)}
    </time>
  );
}

export const Badge = ({
  kind = "",
  children,
}: {
  readonly kind?: "good" | "warn" | "bad" | "accent" | "";
  readonly children: ComponentChildren;
}) => <span class={`badge ${kind}`}>{children}</span>;

/** A name that others may choose: shown as text, cut with an ellipsis, whole on hover. */
export const Name = ({ children, href }: { readonly children: string; readonly href?: string | undefined }) =>
  href === undefined ? (
    <span class="name mono" title={children}>
      {children}
    </span>
  ) : (
    <a class="name mono" title={children} href={href}>
      {children}
    </a>
  );

interface NamedIdProps {
  readonly id: string;
  readonly href: string | undefined;
  readonly name: string | undefined;
}

/** What people call someone, and beside it the id. Without a name, the id alone. */
export const NamedId = ({ id, href, name }: NamedIdProps) =>
  name === undefined || name === id ? (
    <Name href={href}>{id}</Name>
  ) : (
    <span class="row tight named-id" title={`${name}\n${id}`}>
      {/* It may be written from right to left, and must not turn what stands beside it. */}
      {href === undefined ? (
        <bdi>{name}</bdi>
      ) : (
        <a href={href}>
          <bdi>{name}</bdi>
        </a>
      )}
      <span class="name mono muted small">{id}</span>
    </span>
  );

const SHOWN_MAX = 4;

/** The first few of a list, and how many more there are. */
export function Values({ of: all, none }: { readonly of: readonly string[]; readonly none: string }) {
  if (all.length === 0) return <span class="muted">{none}</span>;
  return (
    <div class="values" title={all.join("\n")}>
      {all.slice(0, SHOWN_MAX).map((one) => (
        <Name key={one}>{one}</Name>
      ))}
      {all.length > SHOWN_MAX && <span class="muted small">and {all.length - SHOWN_MAX} more</span>}
    </div>
  );
}

/** A whole list, one per line. */
export const Lines = ({ of: all, none }: { readonly of: readonly string[]; readonly none: string }) =>
  all.length === 0 ? (
    <span class="muted">{none}</span>
  ) : (
    <ul class="bare">
      {all.map((one) => (
        <li key={one}>
          <code>{one}</code>
        </li>
      ))}
    </ul>
  );

const COPIED_MS = 1500;

interface CopyProps {
  /** As a function: put together when it is copied. */
  readonly text: string | (() => string);
  /** What is copied, for screen readers: "key id". */
  readonly what: string;
  readonly label?: string;
}

export function Copy({ text, what, label = "Copy" }: CopyProps) {
  const isCopied = useSignal(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : text());
      isCopied.value = true;
      setTimeout(() => {
        isCopied.value = false;
      }, COPIED_MS);
    } catch {
      toast("The browser does not allow copying here: select the text and copy it yourself.", "bad");
    }
  };
  return (
    <button type="button" class="small copy" aria-label={`${label} ${what}`} onClick={copy}>
      <span aria-live="polite">{isCopied.value ? "Copied" : label}</span>
    </button>
  );
}

/** A block of text to copy: a command, a snippet, a secret. */
export const Snippet = ({ text, what }: { readonly text: string; readonly what: string }) => (
  <div class="snippet">
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways, and must do so from a keyboard too */}
    <pre tabIndex={0}>{text}</pre>
    <Copy text={text} what={what} />
  </div>
);
