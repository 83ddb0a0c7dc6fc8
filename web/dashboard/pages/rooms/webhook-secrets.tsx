/** The secrets that sign what the URL fields of a room get: shown on request. */
import { useSignal } from "@preact/signals";
import { webhookPage } from "../../address/links.ts";
import { get, segment } from "../../api/client.ts";
import type { Room } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import type { List } from "../../api/types.ts";
import type { RoomWebhookSecret } from "../../api/webhook-types.ts";
import { WEBHOOK_FIELDS } from "../../drafts/room-draft.ts";
import { messageOf, toast } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";
import { Snippet } from "../../ui/values.tsx";

interface WebhookSecretsProps {
  readonly app: string;
  readonly room: Room;
}

/** Nothing for a room that names no URL. */
export function WebhookSecrets({ app, room }: WebhookSecretsProps) {
  const secrets = useSignal<readonly RoomWebhookSecret[] | undefined>(undefined);
  if (!WEBHOOK_FIELDS.some((name) => room[name])) return null;
  const reveal = async (): Promise<void> => {
    const path = `/apps/${segment(app)}/rooms/${segment(room.roomName)}/webhook-secrets`;
    try {
      secrets.value = (await get<Pick<List<RoomWebhookSecret>, "data">>(path)).data;
    } catch (error) {
      toast(messageOf(error), "bad");
    }
  };
  const isShown = secrets.value !== undefined;
  return (
    <Card
      title="Signing secrets"
      aside={
        <button
          type="button"
          disabled={!mayChange.value}
          onClick={isShown ? () => (secrets.value = undefined) : reveal}
        >
          {isShown ? "Hide" : "Reveal"}
        </button>
      }
    >
      <div class="stack">
        <p class="muted">
          Requests to the URLs of this room are signed. Each secret is derived from the application and the URL.{" "}
          {mayChange.value
            ? "Every view is recorded in the audit log."
            : "Only operators with the role admin can see them."}
        </p>
        {secrets.value?.map(({ field, url, secret, _id }) => (
          <div key={field}>
            <p>
              <code>{field}</code>: <a href={webhookPage(app, _id)}>{url}</a>
            </p>
            <Snippet text={secret} what={`secret of ${field}`} />
          </div>
        ))}
      </div>
    </Card>
  );
}
