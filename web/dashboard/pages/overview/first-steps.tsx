/** What to do first: in a service without applications, and in an application without connections. */
import type { ComponentChildren } from "preact";
import { BASE } from "../../address/router.ts";
import { query, segment } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import type { App, Key, List } from "../../api/types.ts";
import type { Usage } from "../../api/usage-types.ts";
import { useLive } from "../../live/live.ts";
import { useOrigin } from "../../live/origin.ts";
import { Card } from "../../ui/page.tsx";
import { Snippet } from "../../ui/values.tsx";
import { snippet } from "../keys/snippets.ts";

export const FirstApplication = () => (
  <Card title="Create your first application">
    <div class="row">
      <p class="muted">
        An application has its own keys, channels, rooms and quotas.
        {!mayChange.value && " An operator with the role admin can create one."}
      </p>
      {mayChange.value && (
        <a class="button primary" href={`${BASE}/new-application`}>
          New application
        </a>
      )}
    </div>
  </Card>
);

const LOOK_MS = 5000;

interface FirstSteps {
  /** What an application without connections shows; it stays until the page is left, so that nothing jumps. */
  readonly shown: ComponentChildren;
  readonly isReady: boolean;
}

export function useFirstSteps(app: App | undefined): FirstSteps {
  const usage = useLive<Usage>(app && `/apps/${app._id}/usage?periods=12`);
  const isUnused = usage.data?.data.every(({ peakConcurrent, messagesUsed }) => peakConcurrent + messagesUsed === 0);
  const keys = useLive<List<Key>>(app && isUnused ? `/signalling/keys${query({ app: app._id })}` : undefined);
  // Without an answer the page is shown as for an application in use.
  const isKnown = !app || usage.error !== undefined || (usage.data !== undefined && !isUnused);
  return {
    shown: app && isUnused && keys.data && <HowToConnect app={app} keys={keys.data.data} />,
    isReady: isKnown || keys.data !== undefined || keys.error !== undefined,
  };
}

function HowToConnect({ app, keys }: { readonly app: App; readonly keys: readonly Key[] }) {
  const now = useLive<Usage>(`/apps/${app._id}/usage?periods=1`, { everyMs: LOOK_MS });
  const origin = useOrigin();
  const key = keys.find(({ type, revoked }) => type === "publishable" && revoked === null);
  const isConnected = (now.data?.concurrentNow ?? 0) > 0;
  const toKeys = <a href={`${BASE}/apps/${segment(app.name)}/keys`}>Keys</a>;
  return (
    <Card
      title={
        <span aria-live="polite">{isConnected ? "Your first client is connected" : "Connect your first client"}</span>
      }
    >
      <div class="stack">
        {key ? (
          <>
            <p class="muted">
              This uses your publishable key {key.label && <strong>{key.label}</strong>}. {toKeys} has the same for the
              public SDK, Python and curl.{" "}
              {key.allowedOrigins?.length ? (
                <>
                  Browsers can connect from <code>{key.allowedOrigins.join(", ")}</code>.
                </>
              ) : (
                "Browsers cannot connect with it until you add an origin to the key."
              )}
            </p>
            <Snippet text={snippet(key, origin, "client")} what="example" />
          </>
        ) : (
          <p class="muted">
            Browsers connect with a publishable key; your backend mints connect tokens with a secret key.{" "}
            {mayChange.value ? "Create one" : "An operator with the role admin can create one"} in {toKeys} to see how
            to use it.
          </p>
        )}
      </div>
    </Card>
  );
}
