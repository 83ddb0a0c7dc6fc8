/** Signing in with the admin token or an operator's token. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { sessions } from "../api/client.ts";
import { signedIn, signedOutReason } from "../api/session.ts";
import type { Session } from "../api/types.ts";
import { Form } from "../ui/dialog.tsx";
import { Text } from "../ui/fields.tsx";
import { Notice } from "../ui/notice.tsx";

const NEEDED =
  "Sign in with the line “admin token” of first-run.txt (parley_admin_…), or with an operator's token (op_…).";

/** What was pasted in place of a token, without repeating it. It is not sent. */
function otherCredential(text: string): string | undefined {
  if (text.startsWith("pk_")) return `This is a publishable key, which clients connect with. ${NEEDED}`;
  if (text.startsWith("sk_")) return `This is a secret key, which your backend uses. ${NEEDED}`;
  return /^eyJ[\w-]*\.[\w-]+\.[\w-]+$/.test(text) ? `This is a client's token. ${NEEDED}` : undefined;
}

export function SignIn() {
  const token = useSignal("");
  useEffect(() => {
    document.title = "Sign in · Parley";
  }, []);
  const signIn = async (): Promise<void> => {
    const other = otherCredential(token.value.trim());
    if (other !== undefined) throw new Error(other);
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
