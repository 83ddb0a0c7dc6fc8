/** A "?" beside a term that not everyone knows. What it means appears while it is pointed at or has the focus, and after a touch. */
import { useId, useRef } from "preact/hooks";

interface TermProps {
  readonly name: string;
  /** One to three sentences. */
  readonly meaning: string;
  /** Its name is beside it already. */
  readonly isBare?: boolean;
}

/** Space to the edges of the window, and to the button. */
const MARGIN_PX = 8;

/** The text is in the top layer: tables and cards would cut it. */
export function Term({ name, meaning, isBare = false }: TermProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const text = useRef<HTMLSpanElement>(null);
  const show = (): void => {
    const [at, shown] = [button.current?.getBoundingClientRect(), text.current];
    if (!at || !shown) return;
    if (!shown.matches(":popover-open")) shown.showPopover();
    const { offsetWidth: width, offsetHeight: height } = shown;
    const left = Math.min(at.left - MARGIN_PX, innerWidth - width - MARGIN_PX);
    const isBelow = at.bottom + MARGIN_PX + height < innerHeight;
    shown.style.left = `${Math.max(MARGIN_PX, left)}px`;
    shown.style.top = `${isBelow ? at.bottom + MARGIN_PX : Math.max(MARGIN_PX, at.top - height - MARGIN_PX)}px`;
  };
  const hide = (): void => text.current?.hidePopover();
  return (
    <span class="term">
      {!isBare && `${name}\u00a0`}
      <button
        ref={button}
        type="button"
        class="term-button"
        aria-label={`What is “${name}”?`}
        aria-describedby={id}
        onPointerEnter={({ pointerType }) => pointerType === "mouse" && show()}
        onPointerLeave={({ pointerType }) => pointerType === "mouse" && hide()}
        onFocus={show}
        onBlur={hide}
        onClick={show}
      >
        <span aria-hidden="true">?</span>
      </button>
      <span ref={text} id={id} popover="auto" role="tooltip" class="term-text small">
        {meaning}
      </span>
    </span>
  );
}
