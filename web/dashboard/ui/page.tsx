/** The frame of every page: a title, its actions, and the content once it can be shown whole. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ApiError } from "../api/client.ts";
import { isPassing, retryNow } from "../live/live.ts";
import { Notice } from "./notice.tsx";

interface PageProps {
  readonly title: string;
  /** Beside the title: buttons, a choice of range. */
  readonly actions?: ComponentChildren;
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
  actions,
  intro,
  isReady = true,
  error,
  missing,
  isComplete = true,
  children,
}: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Parley`;
  }, [title]);
  // Actions may need the data too: with the sentence below them they come at once, so that it does not move.
  const isShown = isReady || error !== undefined;
  const isMissing = missing !== undefined && error?.status === 404;
  // A screen reader announces the new page, and the next Tab starts here.
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <>
      <header class="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {isShown && !isMissing && actions && <div class="page-actions">{actions}</div>}
        {isShown && intro && <p class="muted page-intro">{intro}</p>}
      </header>
      <div aria-live="polite">
        {error && !isMissing && <Failed error={error} isReady={isReady} />}
        {!isComplete && <Notice kind="warn">A node has not responded: its part is missing here.</Notice>}
        {isMissing && <Card>{missing}</Card>}
      </div>
      {!isShown && <Loading />}
      {isReady && !isMissing && children}
    </>
  );
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
