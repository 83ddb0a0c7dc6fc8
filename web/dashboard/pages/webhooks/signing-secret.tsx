/** The secret that signs requests: shown once when it is made; those of rooms follow from their URLs. */
import { useSignal } from "@preact/signals";
import { BASE } from "../../address/router.ts";
import { segment } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import type { Webhook } from "../../api/webhook-types.ts";
import { Notice } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";
import { Countdown, RotateDialog, SecretOnce } from "../keys/secret.tsx";

interface SigningSecretProps {
  readonly of: Webhook;
  readonly app: string;
  readonly path: string;
  readonly reload: () => Promise<void>;
}

export function SigningSecret(props: SigningSecretProps) {
  const { kind, canSign } = props.of;
  if (kind === "room") return <OfRooms app={props.app} />;
  return (
    <>
      {canSign ? (
        <OwnSecret {...props} />
      ) : (
        <Card title="Signing secret">
          <Notice kind="bad">
            This node's master key cannot decrypt the secret, so nothing is sent. Start the service with the master key
            that encrypted it, or delete the webhook and create a new one.
          </Notice>
        </Card>
      )}
    </>
  );
}

const OfRooms = ({ app }: { readonly app: string }) => (
  <Card title="Signing secret">
    <p class="muted">
      It is derived from the application and the URL. Open a <a href={`${BASE}/apps/${segment(app)}/rooms`}>room</a>{" "}
      that names this URL: its page shows the secret on request. To get a different secret, change the URL, for example
      its query.
    </p>
  </Card>
);

function OwnSecret({ of: { previousSecrets }, path, reload }: SigningSecretProps) {
  const isRotating = useSignal(false);
  const secret = useSignal<string | undefined>(undefined);
  return (
    <Card
      title="Signing secret"
      aside={
        mayChange.value && (
          <button type="button" onClick={() => (isRotating.value = true)}>
            Rotate …
          </button>
        )
      }
    >
      <div class="stack">
        <p class="muted">It was shown once, when it was created. If it was lost or has leaked, rotate it.</p>
        {secret.value !== undefined && (
          <SecretOnce what="new signing secret" text={secret.value}>
            Copy the new secret before you leave this page: it is shown only once.
          </SecretOnce>
        )}
        {previousSecrets.length > 0 && (
          <ul class="bare" aria-label="Previous secrets">
            {previousSecrets.map(({ endsAt }) => (
              <li key={endsAt}>
                A previous secret signs, too: it <Countdown endsAt={endsAt} />
              </li>
            ))}
          </ul>
        )}
      </div>
      {isRotating.value && (
        <RotateDialog<{ readonly secret: string }>
          title="Rotate the signing secret"
          path={path}
          canRetire={false}
          onDone={(answer) => {
            secret.value = answer.secret;
            isRotating.value = false;
            void reload();
          }}
          onClose={() => (isRotating.value = false)}
        >
          A new secret signs from now on. For the time below, each request is also signed with the current one, so that
          your backend can switch. After a leak, choose “not at all”.
        </RotateDialog>
      )}
    </Card>
  );
}
