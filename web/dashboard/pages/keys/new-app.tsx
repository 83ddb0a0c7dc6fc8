/** Creating an application: its name, then its secret key and what to do next. */
import { useSignal } from "@preact/signals";
import { BASE } from "../../address/router.ts";
import { post, segment } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import type { App } from "../../api/types.ts";
import { apps, loadApps } from "../../live/apps.ts";
import { Form } from "../../ui/dialog.tsx";
import { Text } from "../../ui/fields.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { SecretOnce } from "./secret.tsx";

const NAME_MAX_CHARS = 63;
const RESERVED = ["www", "api", "admin", "docs", "static"];

/** What is wrong with a name; undefined: nothing that can be known here. */
function nameProblem(name: string): string | undefined {
  if (name === "") return undefined;
  if (/[^a-z0-9-]/.test(name)) return "Only lower-case letters, digits and hyphens.";
  if (/^-|-$/.test(name)) return "A hyphen may not be first or last.";
  if (RESERVED.includes(name)) return `${name} is reserved: ${RESERVED.join(", ")} cannot be used.`;
  return apps.value?.some((one) => one.name === name) ? `An application named ${name} already exists.` : undefined;
}

type Created = App & { readonly secretKey: string };

export function NewApp() {
  const name = useSignal("");
  const created = useSignal<Created | undefined>(undefined);
  const create = async (): Promise<void> => {
    created.value = await post<Created>("/apps", { name: name.value });
    await loadApps();
  };
  if (created.value) return <Next app={created.value} />;
  const problem = nameProblem(name.value);
  return (
    <Page
      title="New application"
      isForm
      intro="Applications are separate: each has its own keys, channels, peers, rooms and recordings."
    >
      <Card class="narrow-card">
        {mayChange.value ? (
          <Form submit="Create application" isDisabled={name.value === "" || problem !== undefined} onSubmit={create}>
            <Text
              label="Name"
              value={name.value}
              onInput={(value) => (name.value = value)}
              error={problem}
              maxLength={NAME_MAX_CHARS}
              placeholder="shop"
              isRequired
              autoFocus
              help={`Lower-case letters, digits and hyphens, at most ${NAME_MAX_CHARS}. It is part of the application's host name, as in shop.example.com, and cannot be changed later.`}
            />
          </Form>
        ) : (
          <Notice>You can see everything, but not make changes: ask an operator with the role admin.</Notice>
        )}
      </Card>
    </Page>
  );
}

function Next({ app }: { readonly app: Created }) {
  const root = `${BASE}/apps/${segment(app.name)}`;
  return (
    <Page title={`${app.name} is created`}>
      <Card title="Its secret key">
        <SecretOnce what="secret key of the application" text={app.secretKey}>
          Your backend uses it for rooms, access tokens and recordings. Copy it now; it can also be revealed later under
          Keys; every view is recorded in the audit log.
        </SecretOnce>
      </Card>
      <Card title="What next?">
        <ol class="steps">
          <li>
            <a href={`${root}/keys?create=1`}>Create a key</a>, so that clients can connect: publishable for browsers,
            secret for your backend.
          </li>
          <li>
            Copy a snippet from <a href={`${root}/keys`}>Keys</a> and connect.
          </li>
          <li>
            Watch it happen in the <a href={`${root}/console`}>console</a>.
          </li>
        </ol>
      </Card>
    </Page>
  );
}
