/** Dialogs: forms that interrupt, and questions before something is lost. */
import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { messageOf, Notice } from "./notice.tsx";

interface DialogProps {
  readonly title: string;
  readonly isWide?: boolean;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Shown while it is rendered. Escape closes it; the focus stays inside, and returns to where it was afterwards. */
export function Dialog({ title, isWide, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  // The browser reports the end of a dialog that is no longer rendered: by then another may be open in its place.
  const isRendered = useRef(true);
  const closed = (): void => {
    if (isRendered.current) onClose();
  };
  useLayoutEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      isRendered.current = false;
      dialog?.close();
      // The browser returns the focus only from a dialog that is still in the page.
      if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    };
  }, []);
  return (
    <dialog ref={element} class={`dialog ${isWide ? "wide" : ""}`} aria-labelledby={id} onClose={closed}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

interface FormProps {
  /** Runs on submit. What it throws is shown above the buttons. */
  readonly onSubmit: () => Promise<unknown>;
  readonly onCancel?: () => void;
  readonly submit: string;
  readonly isDanger?: boolean;
  readonly isDisabled?: boolean;
  readonly children?: ComponentChildren;
}

export function Form({ onSubmit, onCancel, submit, isDanger, isDisabled, children }: FormProps) {
  const error = useSignal("");
  const isBusy = useSignal(false);
  const run = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (isBusy.value) return;
    isBusy.value = true;
    error.value = "";
    try {
      await onSubmit();
    } catch (caught) {
      error.value = messageOf(caught);
    }
    isBusy.value = false;
  };
  return (
    <form class="form" onSubmit={run}>
      {children}
      <div role="alert">{error.value && <Notice kind="bad">{error.value}</Notice>}</div>
      <div class="form-actions">
        {onCancel && (
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        )}
        <button type="submit" class={isDanger ? "danger" : "primary"} disabled={isBusy.value || isDisabled === true}>
          {submit}
        </button>
      </div>
    </form>
  );
}

interface Question {
  readonly title: string;
  /** What will happen. */
  readonly text: ComponentChildren;
  readonly submit: string;
  /** Something is lost for good or connections close: the button is red. */
  readonly isDanger?: boolean;
  /** For what cannot be undone at all: this text must be typed. */
  readonly typed?: string;
  /** What it throws is shown in the dialog. */
  readonly run: () => Promise<unknown>;
}

const question = signal<Question | undefined>(undefined);

/** Asks before it runs. */
export function confirm(asked: Question): void {
  question.value = asked;
}

/** Placed once, in the frame of the dashboard. */
export function Confirmation() {
  const typed = useSignal("");
  const asked = question.value;
  if (!asked) return null;
  const close = (): void => {
    question.value = undefined;
    typed.value = "";
  };
  const run = async (): Promise<void> => {
    await asked.run();
    close();
  };
  return (
    <Dialog title={asked.title} onClose={close}>
      <Form
        submit={asked.submit}
        isDanger={asked.isDanger === true}
        isDisabled={asked.typed !== undefined && typed.value !== asked.typed}
        onSubmit={run}
        onCancel={close}
      >
        <div>{asked.text}</div>
        {asked.typed !== undefined && (
          <label class="field">
            <span>
              Type <code>{asked.typed}</code> to confirm
            </span>
            <input
              value={typed.value}
              autocomplete="off"
              onInput={(event) => (typed.value = event.currentTarget.value)}
            />
          </label>
        )}
      </Form>
    </Dialog>
  );
}
