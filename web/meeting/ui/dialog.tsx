/** Dialogs: Escape closes them, the focus stays inside, and returns to where it was afterwards. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { focusOn, stopAt } from "../../focus/focus.ts";
import { refusedAct } from "../session/refusals.ts";
import { t } from "../texts/texts.ts";
import { Icon } from "./icons.tsx";

interface DialogProps {
  readonly title: string;
  /** undefined: it cannot be closed, only answered. */
  readonly onClose?: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  const isRendered = useRef(true);
  useLayoutEffect(() => {
    const dialog = element.current;
    const before = stopAt(document.activeElement);
    dialog?.showModal();
    // Otherwise the button that closes it would be focused: the title is what a screen reader should begin with.
    dialog?.querySelector<HTMLElement>("h2")?.focus();
    return () => {
      // The browser reports the end of a dialog that is no longer rendered: by then another may be open in its place.
      isRendered.current = false;
      dialog?.close();
      if (before) focusOn(before);
    };
  }, []);
  const closed = (): void => {
    if (!isRendered.current) return;
    if (onClose) onClose();
    // Browsers close a dialog with the second Escape, whatever the page says.
    else element.current?.showModal();
  };
  return (
    <dialog
      ref={element}
      class="dialog"
      aria-labelledby={id}
      onCancel={(event) => !onClose && event.preventDefault()}
      onClose={closed}
    >
      <header class="dialog-head">
        <h2 id={id} tabIndex={-1}>
          {title}
        </h2>
        {onClose && (
          <button type="button" class="quiet icon-button" aria-label={t("close")} onClick={onClose}>
            <Icon name="close" />
          </button>
        )}
      </header>
      {children}
    </dialog>
  );
}

interface QuestionProps {
  readonly title: string;
  readonly text: string;
  readonly submit: string;
  /** The button's; something that ends or removes by default. */
  readonly tone?: "danger" | "primary";
  readonly run: () => Promise<unknown>;
  /** A second way to answer. */
  readonly other?: { readonly text: string; readonly tone: "danger" | ""; readonly run: () => Promise<unknown> };
  readonly onClose: () => void;
}

/** A question before something that cannot be undone. */
export function Question({ title, text, submit, tone = "danger", run, other, onClose }: QuestionProps) {
  const error = useSignal("");
  const isBusy = useSignal(false);
  const answer = async (act: () => Promise<unknown>): Promise<void> => {
    isBusy.value = true;
    try {
      await act();
      onClose();
    } catch (cause) {
      error.value = t(refusedAct(cause) ?? "somethingFailed");
      isBusy.value = false;
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <p class="muted">{text}</p>
      <p role="alert" class="bad">
        {error.value}
      </p>
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          {t("cancel")}
        </button>
        {other && (
          <button type="button" class={other.tone} disabled={isBusy.value} onClick={() => answer(other.run)}>
            {other.text}
          </button>
        )}
        <button type="button" class={tone} disabled={isBusy.value} onClick={() => answer(run)}>
          {submit}
        </button>
      </div>
    </Dialog>
  );
}
