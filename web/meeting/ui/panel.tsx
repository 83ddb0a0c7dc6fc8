/** A panel beside the stage; on a narrow page it lies above it. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { t } from "../texts/texts.ts";
import { Icon } from "./icons.tsx";
import { panel } from "./view.ts";

interface PanelProps {
  readonly title: string;
  readonly children: ComponentChildren;
}

export function SidePanel({ title, children }: PanelProps) {
  const id = useId();
  const close = (): void => {
    panel.value = undefined;
  };
  return (
    <aside class="panel" aria-labelledby={id} onKeyDown={(event) => event.key === "Escape" && close()}>
      <header class="panel-head">
        <h2 id={id}>{title}</h2>
        <button type="button" class="quiet icon-button" aria-label={t("close")} onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </aside>
  );
}
