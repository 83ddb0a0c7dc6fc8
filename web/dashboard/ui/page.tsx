/** The frame of every page: a title, its actions, and the content once it can be shown whole. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ApiError } from "../api/client.ts";
import { freshness } from "../live/freshness.ts";
import { isPassing, retryNow } from "../live/live.ts";
import { clock } from "../text/format.ts";
import { inText } from "../text/in-text.ts";
import { Notice } from "./notice.tsx";

interface PageProps {
  readonly title: string;
  /** Whether it is live, if the page itself knows: a stream. */
  readonly mark?: ComponentChildren;
  /** On the right of the title: buttons, a choice of range. */
  readonly actions?: ComponentChildren;
  /** A form to fill in: its head only says if the service cannot be reached. */
  readonly isForm?: boolean;
  /** A sentence below the title. */
  readonly intro?: ComponentChildren;
  /** Data is there. Until then only the title is shown, so that nothing moves when it comes. */
  readonly isReady?: boolean;
  readonly error?: ApiError | undefined;
  /** In place of everything else, if what the page is about does not exist (any more). */
  readonly missing?: ComponentChildren;
  /** false: a node has not responded. */
  readonly isComplete?: boolean;
  readonly children?: ComponentChildren;
}

export function Page({
  title,
  mark,
  actions,
  isForm = false,
  intro,
  isReady = true,
  error,
  missing,
  isComplete = true,
  children,
}: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${inText(title)} · Parley`;
  }, [title]);
  // Actions may need the data too: with the sentence below them they come at once, so that it does not move.
  const isShown = isReady || error !== undefined;
  const isMissing = missing !== undefined && error?.status === 404;
  // A screen reader announces the new page, and the next Tab starts here.
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <>
      <header class="page-head">
        <div class="page-title">
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {/* With the data: a title that only then is whole would move it. */}
          {isShown && <span class="fresh">{mark ?? (!isMissing && <FreshMark isForm={isForm} />)}</span>}
        </div>
        {isShown && !isMissing && actions && <div class="page-actions">{actions}</div>}
        {isShown && intro && <p class="muted page-intro">{intro}</p>}
      </header>
      <div aria-live="polite">
        {error && !isMissing && <Failed error={error} isReady={isReady} />}
        {!isComplete && <Notice kind="warn">A node has not responded: its data is missing here.</Notice>}
        {isMissing && <Card>{missing}</Card>}
      </div>
      {!isShown && <Loading />}
      {isReady && !isMissing && children}
    </>
  );
}

/** How fresh the page is. That the service is lost is said in full below the title, and announced there. */
function FreshMark({ isForm }: { readonly isForm: boolean }) {
  const now = freshness.value;
  if (!now || (isForm && now.state !== "lost")) return null;
  switch (now.state) {
    case "followed":
      return (
        <span class="mark live" title="This page updates automatically">
          Updates every {now.everySec} s
        </span>
      );
    case "once":
      return (
        <span class="mark">
          As of {clock(now.at * 1000)} ·{" "}
          <button type="button" class="link-button" onClick={now.reload}>
            Refresh
          </button>
        </span>
      );
    case "lost":
      return <span class="mark lost">{now.at === undefined ? "Not loaded" : `As of ${clock(now.at * 1000)}`}</span>;
  }
}

const Failed = ({ error, isReady }: { readonly error: ApiError; readonly isReady: boolean }) => (
  <Notice kind="bad">
    {error.message} {isReady && "What is shown may be out of date. "}
    {isPassing(error) && (
      <>
        This page retries every few seconds.{" "}
        <button type="button" class="small" onClick={retryNow}>
          Try now
        </button>
      </>
    )}
  </Notice>
);

const SLOW_MS = 1000;

/** Nothing at first: most answers take less time than it takes to read this. */
export function Loading() {
  const isSlow = useSignal(false);
  useEffect(() => {
    const timer = setTimeout(() => {
      isSlow.value = true;
    }, SLOW_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p role="status" class="muted">
      {isSlow.value && "Loading …"}
    </p>
  );
}

interface CardProps {
  readonly title?: ComponentChildren;
  /** On the right of the title. */
  readonly aside?: ComponentChildren;
  readonly class?: string;
  readonly children?: ComponentChildren;
}

export function Card({ title, aside, class: extra = "", children }: CardProps) {
  return (
    <section class={`card ${extra}`}>
      {(title || aside) && (
        <div class="card-head">
          {title && <h2>{title}</h2>}
          {aside && <div class="muted">{aside}</div>}
        </div>
      )}
      {children}
    </section>
  );
}
