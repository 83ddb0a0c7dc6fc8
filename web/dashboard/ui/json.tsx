/** JSON or text that others wrote: one line of it in a list, all of it in a dialog. */
import { oneLine, preview } from "../text/event-text.ts";
import { Dialog } from "./dialog.tsx";
import { Snippet } from "./values.tsx";

interface JsonCellProps {
  readonly value: unknown;
  /** Shown as it is, without quotes. */
  readonly isText?: boolean;
  readonly onOpen: () => void;
}

export const JsonCell = ({ value, isText, onOpen }: JsonCellProps) =>
  value === undefined ? (
    <span class="muted">none</span>
  ) : (
    <button type="button" class="quiet name mono as-text" title="Show all of it" onClick={onOpen}>
      {isText ? oneLine(String(value)) : preview(value)}
    </button>
  );

export interface ShownJson {
  readonly title: string;
  readonly value: unknown;
  readonly isText?: boolean;
}

interface JsonDialogProps {
  readonly shown: ShownJson | undefined;
  readonly onClose: () => void;
}

export const JsonDialog = ({ shown, onClose }: JsonDialogProps) =>
  shown ? (
    <Dialog title={shown.title} onClose={onClose}>
      <Snippet text={shown.isText ? String(shown.value) : JSON.stringify(shown.value, null, 2)} what="all of it" />
      <div class="form-actions below">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  ) : null;
