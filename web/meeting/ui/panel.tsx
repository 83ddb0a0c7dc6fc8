/** A panel beside the stage; on a narrow page it lies above it. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { t } from "../texts/texts.ts";
import { Icon } from "./icons.tsx";
import { panel } from "./view.ts";

interface PanelProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** Something in it takes the focus. */
  readonly focuses?: boolean;
}

export function SidePanel({ title, children, focuses }: PanelProps) {
  const id = useId();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    const panelElement = heading.current?.closest("aside");
    if (!focuses) heading.current?.focus({ preventScroll: true });
    return () => {
      // The focus must not be lost with the panel; a person who works elsewhere keeps it there.
      const isInside = document.activeElement === document.body || panelElement?.contains(document.activeElement);
      if (isInside && before instanceof HTMLElement) before.focus({ preventScroll: true });
    };
  }, []);
  const close = (): void => {
    panel.value = undefined;
  };
  return (
    <aside class="panel" aria-labelledby={id} onKeyDown={(event) => event.key === "Escape" && close()}>
      <header class="panel-head">
        <h2 id={id} ref={heading} tabIndex={-1}>
          {title}
        </h2>
        <button type="button" class="quiet icon-button" aria-label={t("close")} onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </aside>
  );
}
