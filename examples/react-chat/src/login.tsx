import { useActionState } from "react";
import { logIn, type Session } from "./session.ts";

export function Login({ onLogin }: { onLogin: (session: Session) => void }) {
  const [error, submit, isBusy] = useActionState(async (_: string | undefined, form: FormData) => {
    try {
      onLogin(await logIn(String(form.get("name"))));
      return undefined;
    } catch (failure) {
      return `${(failure as Error).message} Try again.`;
    }
  }, undefined);
  return (
    <main className="login">
      <h1>Chat</h1>
      <form action={submit}>
        <label htmlFor="name">Your name</label>
        <div className="line">
          {/* biome-ignore lint/a11y/noAutofocus: it is the only thing on this page. */}
          <input id="name" name="name" maxLength={40} required autoComplete="nickname" autoFocus />
          <button type="submit" disabled={isBusy}>
            Enter
          </button>
        </div>
      </form>
      {error && <p role="alert">{error}</p>}
      <p className="quiet">Open this page in a second tab with another name to have someone to talk to.</p>
    </main>
  );
}
