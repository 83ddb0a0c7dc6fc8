/** Extra headers of the requests. Values that are kept are not shown again: they stay, are replaced, or go with their header. */
import type { HeaderDraft } from "../../drafts/webhook-draft.ts";

interface HeaderFieldsProps {
  readonly headers: readonly HeaderDraft[];
  readonly onChange: (headers: readonly HeaderDraft[]) => void;
}

export function HeaderFields({ headers, onChange }: HeaderFieldsProps) {
  const set = (changed: HeaderDraft): void => onChange(headers.map((one) => (one.id === changed.id ? changed : one)));
  const add = (): void => {
    const id = Math.max(-1, ...headers.map((one) => one.id)) + 1;
    onChange([...headers, { id, name: "", value: "", isKept: false }]);
  };
  return (
    <fieldset class="event-fields">
      <legend>Extra headers</legend>
      {headers.map((one, at) => {
        const nr = at + 1;
        return (
          <div key={one.id} class="header-line">
            <input
              class="mono"
              aria-label={`Name of header ${nr}`}
              placeholder="Authorization"
              value={one.name}
              readOnly={one.isKept}
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => set({ ...one, name: event.currentTarget.value })}
            />
            <input
              class="mono"
              aria-label={`Value of header ${nr}`}
              placeholder={one.isKept ? "kept; type to replace it" : "Bearer …"}
              value={one.value}
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => set({ ...one, value: event.currentTarget.value })}
            />
            <button
              type="button"
              class="small"
              aria-label={`Remove header ${one.name || nr}`}
              onClick={() => onChange(headers.filter(({ id }) => id !== one.id))}
            >
              Remove
            </button>
          </div>
        );
      })}
      <div class="row">
        <button type="button" class="small" onClick={add}>
          Add header
        </button>
        <span class="muted small">Sent with every request. Values are encrypted, and not shown afterwards.</span>
      </div>
    </fieldset>
  );
}
