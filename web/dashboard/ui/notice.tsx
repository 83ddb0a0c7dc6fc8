/** Sentences about the state of things: notices, empty lists, and short confirmations that go away by themselves. */
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";

interface NoticeProps {
  readonly kind?: "info" | "good" | "warn" | "bad";
  readonly children: ComponentChildren;
}

export const Notice = ({ kind = "info", children }: NoticeProps) => (
  <div class={`notice notice-${kind}`}>{children}</div>
);

interface EmptyProps {
  /** What would be here. */
  readonly title: string;
  /** How to get it. */
  readonly children?: ComponentChildren;
}

export const Empty = ({ title, children }: EmptyProps) => (
  <div class="empty">
    <p>
      <strong>{title}</strong>
    </p>
    {children && <div class="muted">{children}</div>}
  </div>
);

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly kind: "good" | "bad";
  readonly act?: ToastAct | undefined;
}

interface ToastAct {
  readonly label: string;
  readonly run: () => void;
}

const TOAST_MS = 5000;
/** One with a button: long enough to read it, to think and to get there. */
const TOAST_WITH_ACT_MS = 20_000;
/** Bound: each goes away after TOAST_WITH_ACT_MS at the latest, and only the last three are kept. */
const toasts = signal<readonly Toast[]>([]);
let lastToast = 0;

/** Shows a short sentence at the edge of the page, and reads it to screen readers. */
export function toast(text: string, kind: Toast["kind"] = "good", act?: ToastAct): void {
  const id = ++lastToast;
  toasts.value = [...toasts.value.slice(-2), { id, text, kind, act }];
  setTimeout(() => take(id), act ? TOAST_WITH_ACT_MS : TOAST_MS);
}

function take(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

export const Toasts = () => (
  <div class="toasts" role="status">
    {toasts.value.map(({ id, text, kind, act }) => (
      <div key={id} class={`toast toast-${kind}`}>
        {text}
        {act && (
          <button
            type="button"
            class="small"
            onClick={() => {
              take(id);
              act.run();
            }}
          >
            {act.label}
          </button>
        )}
      </div>
    ))}
  </div>
);

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
