/** Dialogs: forms that interrupt, and questions before something is lost. */
import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { focusOn, stopAt } from "../../focus/focus.ts";
import { Check } from "./fields.tsx";
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
    const before = stopAt(document.activeElement);
    dialog?.showModal();
    return () => {
      isRendered.current = false;
      dialog?.close();
      // The browser returns the focus only from a dialog that is still in the page. What opened it may be gone: its row was deleted.
      if (before) focusOn(before);
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
  /** Runs on submit, unless a field shows an error: then that field is focused. What it throws is shown above the buttons. */
  readonly onSubmit: () => Promise<unknown>;
  readonly onCancel?: () => void;
  readonly submit: string;
  readonly isDanger?: boolean;
  readonly isDisabled?: boolean;
  /** Beside the buttons: what the form amounts to. */
  readonly beside?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** Leads to the first field with an error, which may be out of view, where the form has one. */
function showFirstWrong(form: HTMLFormElement): boolean {
  const field = form.querySelector<HTMLElement>('[aria-invalid="true"]');
  field?.closest("details")?.setAttribute("open", "");
  field?.scrollIntoView({ block: "center" });
  field?.focus({ preventScroll: true });
  return field !== null;
}

export function Form({ onSubmit, onCancel, submit, isDanger, isDisabled, beside, children }: FormProps) {
  const error = useSignal("");
  const isBusy = useSignal(false);
  const run = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (isBusy.value || showFirstWrong(event.currentTarget as HTMLFormElement)) return;
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
        {beside && <p class="form-beside">{beside}</p>}
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

/** More connections than this are not closed by a click alone: the name of what closes them must be typed. */
const CLOSED_BY_A_CLICK_MAX = 100;

/** The name to type before an action that closes this many connections; undefined: none. A number that is not known may be any. */
export const nameToType = (name: string, connections: number | undefined): string | undefined =>
  connections === undefined || connections > CLOSED_BY_A_CLICK_MAX ? name : undefined;

/** Whether the name was typed. Spaces around it do not show, unless it has nothing else. */
export const isTyped = (name: string | undefined, typed: string): boolean =>
  name === undefined || typed === name || (name.trim() !== "" && typed.trim() === name.trim());

interface TypedNameProps {
  /** undefined: nothing has to be typed. */
  readonly name: string | undefined;
  readonly value: string;
  readonly onInput: (value: string) => void;
}

export const TypedName = ({ name, value, onInput }: TypedNameProps) =>
  name === undefined ? null : (
    <label class="field">
      <span>
        Type <code class="exact">{name}</code> to confirm
      </span>
      <input
        value={value}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );

interface Question {
  readonly title: string;
  /** What will happen. */
  readonly text: ComponentChildren;
  readonly submit: string;
  /** Something is lost for good or connections close: the button is red. */
  readonly isDanger?: boolean;
  /** For what cannot be undone at all, or closes many connections (nameToType): this text must be typed. */
  readonly typed?: string | undefined;
  /** Something that can be done with it. */
  readonly option?: { readonly label: string; readonly help: string } | undefined;
  /** What it throws is shown in the dialog. */
  readonly run: (isOptionChosen: boolean) => Promise<unknown>;
}

const question = signal<Question | undefined>(undefined);

/** Asks before it runs. */
export function confirm(asked: Question): void {
  question.value = asked;
}

/** Placed once, in the frame of the dashboard. */
export function Confirmation() {
  const typed = useSignal("");
  const isChosen = useSignal(false);
  const asked = question.value;
  if (!asked) return null;
  const close = (): void => {
    question.value = undefined;
    typed.value = "";
    isChosen.value = false;
  };
  const run = async (): Promise<void> => {
    await asked.run(isChosen.value);
    close();
  };
  return (
    <Dialog title={asked.title} onClose={close}>
      <Form
        submit={asked.submit}
        isDanger={asked.isDanger === true}
        isDisabled={!isTyped(asked.typed, typed.value)}
        onSubmit={run}
        onCancel={close}
      >
        <div>{asked.text}</div>
        {asked.option && (
          <Check {...asked.option} checked={isChosen.value} onChange={(isOn) => (isChosen.value = isOn)} />
        )}
        <TypedName name={asked.typed} value={typed.value} onInput={(value) => (typed.value = value)} />
      </Form>
    </Dialog>
  );
}
