/** How many bytes of something are stored, how many may be, and a form that changes it. */
import { mayChange } from "../api/session.ts";
import { useDraft } from "../drafts/draft.ts";
import { bytes } from "../text/format.ts";
import { Bar } from "./bar.tsx";
import { Form } from "./dialog.tsx";
import { Text } from "./fields.tsx";
import { Card } from "./page.tsx";

interface ByteLimitProps {
  readonly title: string;
  /** undefined: it cannot be read at the moment. */
  readonly used: number | undefined;
  readonly limit: number;
  /** The bytes of one unit of the number in the form. */
  readonly unit: number;
  readonly label: string;
  readonly least: number;
  /** What is stored, as a sentence. */
  readonly what: string;
  /** What happens at the limit. */
  readonly atLimit: string;
  readonly onSubmit: (most: number) => Promise<unknown>;
}

/** From here on the bar warns. */
const NEARLY_FULL = 0.9;

export function ByteLimit({ title, used, limit, unit, label, least, what, atLimit, onSubmit }: ByteLimitProps) {
  const draft = useDraft({ most: String(limit / unit) });
  const typed = draft.value.most;
  const most = typed.trim() === "" ? Number.NaN : Math.round(Number(typed) * unit);
  const share = limit > 0 ? (used ?? 0) / limit : 1;
  const kind = share >= 1 ? "bad" : share >= NEARLY_FULL ? "warn" : undefined;
  return (
    <Card title={title}>
      <div class="stat meter">
        <div>
          <span class="value">{used === undefined ? "?" : bytes(used)}</span>{" "}
          <span class="unit">of {bytes(limit)}</span>
        </div>
        <Bar share={share} {...(kind && { kind })} />
        <p class="muted small">
          {used === undefined ? "The amount stored cannot be read right now." : what} {atLimit}
        </p>
      </div>
      {mayChange.value && (
        <div class="spaced">
          <Form submit="Save" isDisabled={!(most >= least) || most === limit} onSubmit={() => onSubmit(most)}>
            <Text
              label={label}
              type="number"
              min={least / unit}
              step={0.1}
              value={typed}
              onInput={(value) => (draft.value = { most: value })}
            />
          </Form>
        </div>
      )}
    </Card>
  );
}
