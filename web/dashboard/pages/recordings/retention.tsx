/** How long an application's recordings are kept. */
import { patch, segment } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import type { App } from "../../api/types.ts";
import { useDraft } from "../../drafts/draft.ts";
import { loadApps } from "../../live/apps.ts";
import { confirm, Form } from "../../ui/dialog.tsx";
import { Text } from "../../ui/fields.tsx";
import { toast } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";

const DAYS_MAX = 36_500;

const days = (count: number | null): string =>
  count === null ? "without a limit" : count === 1 ? "1 day" : `${count} days`;

export function Retention({ app }: { readonly app: App }) {
  const draft = useDraft({ days: app.retentionDays === null ? "" : String(app.retentionDays) });
  const typed = draft.value.days;
  const wanted = typed === "" ? null : Number(typed);
  const isValid = wanted === null || (Number.isInteger(wanted) && wanted >= 1 && wanted <= DAYS_MAX);
  const isShorter = wanted !== null && (app.retentionDays === null || wanted < app.retentionDays);
  const save = async (): Promise<void> => {
    await patch(`/apps/${segment(app._id)}`, { retentionDays: wanted });
    await loadApps();
    toast(`Recordings are kept ${days(wanted)}.`);
  };
  const ask = async (): Promise<void> => {
    if (!isShorter) return save();
    confirm({
      title: `Keep recordings for ${days(wanted)} only`,
      text: (
        <p>
          Recordings that were completed longer ago than {days(wanted)} are deleted with their files, within an hour and
          from then on. This cannot be undone.
        </p>
      ),
      submit: "Change the retention",
      isDanger: true,
      run: save,
    });
  };
  return (
    <Card title="Retention">
      {mayChange.value ? (
        <Form submit="Save" isDisabled={!isValid || wanted === app.retentionDays} onSubmit={ask}>
          <Text
            label="Days to keep recordings"
            type="number"
            min={1}
            max={DAYS_MAX}
            value={typed}
            placeholder="without a limit"
            onInput={(value) => (draft.value = { days: value })}
            error={isValid ? undefined : `A whole number from 1 to ${DAYS_MAX}, or empty.`}
            help="Counted from when each recording was completed. Older ones are deleted once an hour. Empty: none are deleted."
          />
        </Form>
      ) : (
        <p>Recordings are kept {days(app.retentionDays)}.</p>
      )}
    </Card>
  );
}
