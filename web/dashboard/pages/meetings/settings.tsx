/** How long an application's meetings are kept, and whose pages may show them. */
import { patch, segment } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import type { App } from "../../api/types.ts";
import { useDraft } from "../../drafts/draft.ts";
import { frameOriginProblem, linesOf } from "../../drafts/scope.ts";
import { loadApps } from "../../live/apps.ts";
import { confirm, Form } from "../../ui/dialog.tsx";
import { Text } from "../../ui/fields.tsx";
import { toast } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";

const DAYS_MAX = 3650;

const days = (count: number): string => (count === 1 ? "1 day" : `${count} days`);

export function MeetingSettings({ app }: { readonly app: App }) {
  const draft = useDraft({ kept: String(app.meetingRetentionDays), origins: app.allowedFrameOrigins.join("\n") });
  const { kept, origins } = draft.value;
  const wanted = Number(kept);
  const allowed = linesOf(origins);
  const isValid = Number.isInteger(wanted) && wanted >= 1 && wanted <= DAYS_MAX;
  const isUnchanged = wanted === app.meetingRetentionDays && allowed.join("\n") === app.allowedFrameOrigins.join("\n");
  const save = async (): Promise<void> => {
    await patch(`/apps/${segment(app._id)}`, { meetingRetentionDays: wanted, allowedFrameOrigins: allowed });
    await loadApps();
    toast("Meeting settings saved.");
  };
  const ask = async (): Promise<void> => {
    if (wanted >= app.meetingRetentionDays) return save();
    confirm({
      title: `Keep meetings for ${days(wanted)} only`,
      text: (
        <p>
          Meetings that ended longer ago than {days(wanted)} are deleted with the list of who took part, within an hour
          and from then on. This cannot be undone.
        </p>
      ),
      submit: "Change the retention",
      isDanger: true,
      run: save,
    });
  };
  if (!mayChange.value)
    return (
      <Card title="Meeting settings" class="narrow-card">
        <p>Meetings are kept {days(app.meetingRetentionDays)} after their end.</p>
        <p>Pages that may show them in a frame: {app.allowedFrameOrigins.join(", ") || "none"}.</p>
      </Card>
    );
  return (
    <Card title="Meeting settings" class="narrow-card">
      <Form
        submit="Save"
        isDisabled={!isValid || frameOriginProblem(allowed) !== undefined || isUnchanged}
        onSubmit={ask}
      >
        <Text
          label="Days to keep meetings"
          type="number"
          min={1}
          max={DAYS_MAX}
          value={kept}
          onInput={(value) => (draft.value = { ...draft.value, kept: value })}
          error={isValid ? undefined : `A whole number from 1 to ${DAYS_MAX}.`}
          help="Counted from the end of each meeting. Older ones are deleted once an hour, with who took part."
        />
        <Text
          label="Origins that may embed meetings, one per line"
          rows={3}
          value={origins}
          onInput={(value) => (draft.value = { ...draft.value, origins: value })}
          error={frameOriginProblem(allowed)}
          placeholder="https://shop.example.com"
          help="Pages on these origins may embed the meeting page. Empty: no page may."
        />
      </Form>
    </Card>
  );
}
