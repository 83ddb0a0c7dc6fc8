/** The application's secret key: shown on request, copied, rotated. */
import { useSignal } from "@preact/signals";
import { get, segment } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import type { App } from "../../api/types.ts";
import { peopleInMeetings } from "../../live/meetings.ts";
import { messageOf, toast } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";
import { Copy, Snippet } from "../../ui/values.tsx";
import { Countdown, RotateDialog } from "./secret.tsx";

interface AppSecretProps {
  readonly app: App;
  /** The address of the service, for the example. */
  readonly origin: string;
  readonly reload: () => void;
}

export function AppSecret({ app, origin, reload }: AppSecretProps) {
  const secret = useSignal<string | undefined>(undefined);
  const isRotating = useSignal(false);
  const inMeetings = useSignal<number | undefined>(undefined);
  const askToRotate = async (): Promise<void> => {
    inMeetings.value = await peopleInMeetings(app._id).catch(() => undefined);
    isRotating.value = true;
  };
  const path = `/apps/${segment(app._id)}/secret-key`;
  const reveal = async (): Promise<void> => {
    try {
      secret.value = (await get<{ readonly secretKey: string }>(path)).secretKey;
    } catch (error) {
      toast(messageOf(error), "bad");
    }
  };
  const rotated = (answer: { readonly secretKey: string }): void => {
    secret.value = answer.secretKey;
    isRotating.value = false;
    toast("Secret key rotated.");
    reload();
  };
  return (
    <Card title="Secret key of the application">
      <div class="stack">
        <p class="muted">
          The credential for the application API: rooms, access tokens, recordings. Only your backend should have it.
          Every view is recorded in the audit log.
        </p>
        <div class="row secret-row">
          <code class="secret" aria-live="polite">
            {secret.value ?? "•".repeat(48)}
          </code>
          {secret.value === undefined ? (
            <button type="button" disabled={!mayChange.value} onClick={reveal}>
              Reveal
            </button>
          ) : (
            <>
              <Copy text={secret.value} what="secret key of the application" />
              <button type="button" class="small" onClick={() => (secret.value = undefined)}>
                Hide
              </button>
            </>
          )}
          {mayChange.value && (
            <button type="button" onClick={askToRotate}>
              Rotate …
            </button>
          )}
        </div>
        {!mayChange.value && <p class="muted small">Only operators with the role admin can see it.</p>}
        {app.previousSecrets.map(({ endsAt }) => (
          <p key={endsAt} class="small">
            A previous secret key still works: it <Countdown endsAt={endsAt} />.
          </p>
        ))}
        <Snippet
          what="example call"
          text={`curl -s ${origin}/api/v1/rooms -H 'X-Parley-App: ${app.name}' -H "Authorization: Bearer $APP_SECRET"`}
        />
      </div>
      {isRotating.value && (
        <RotateDialog
          title="Rotate the secret key of the application"
          path={path}
          closes={{ name: app.name, connections: inMeetings.value }}
          onDone={rotated}
          onClose={() => (isRotating.value = false)}
        >
          A new secret key replaces the current one. Add it to your backend within the time below. When the current one
          ends, so do its access tokens and the stays of people in meetings.
        </RotateDialog>
      )}
    </Card>
  );
}
