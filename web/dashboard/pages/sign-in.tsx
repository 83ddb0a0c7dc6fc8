/** Signing in with the admin token or an operator's token. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { sessions } from "../api/client.ts";
import { signedIn, signedOutReason } from "../api/session.ts";
import type { Session } from "../api/types.ts";
import { Form } from "../ui/dialog.tsx";
import { Text } from "../ui/fields.tsx";
import { Notice } from "../ui/notice.tsx";

export function SignIn() {
  const token = useSignal("");
  useEffect(() => {
    document.title = "Sign in · Parley";
  }, []);
  const signIn = async (): Promise<void> => {
    signedIn(await sessions.open<Session>(token.value.trim()));
  };
  return (
    <main class="sign-in">
      <div class="card">
        <h1>
          <span class="logo" aria-hidden="true" /> Parley
        </h1>
        {signedOutReason.value && <Notice kind="warn">{signedOutReason.value}</Notice>}
        <Form submit="Sign in" onSubmit={signIn} isDisabled={token.value.trim() === ""}>
          <Text
            label="Token"
            type="password"
            value={token.value}
            onInput={(value) => (token.value = value)}
            isRequired
            autoFocus
            help="The admin token, or an operator's token."
          />
        </Form>
        <details>
          <summary class="small muted">Where is the admin token?</summary>
          <p class="small muted">
            The first start printed it, or wrote it to <code>first-run.txt</code> in the data folder; else it is
            <code> PARLEY_ADMIN_TOKEN</code>. If that is not set and the token is lost, stop the service and run{" "}
            <code>bin/parley admin reset-token</code>.
          </p>
        </details>
      </div>
    </main>
  );
}
