/** The frame: navigation beside the page that the address names, or the sign-in form. */
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { appName, apps, currentApp, loadApps } from "./lib/apps.ts";
import { rawPath } from "./lib/router.ts";
import { session } from "./lib/session.ts";
import { Navigation } from "./navigation.tsx";
import { NotFound } from "./pages/not-found.tsx";
import { SignIn } from "./pages/sign-in.tsx";
import { pageOf } from "./routes.tsx";
import { Confirmation } from "./ui/dialog.tsx";
import { messageOf, Notice, Toasts } from "./ui/notice.tsx";

export function Dashboard() {
  if (session.value === undefined) return null;
  return (
    <>
      {session.value === null ? <SignIn /> : <SignedIn />}
      <Toasts />
    </>
  );
}

function SignedIn() {
  const error = useSignal("");
  useEffect(() => {
    loadApps().catch((caught: unknown) => {
      error.value = messageOf(caught);
    });
  }, []);
  // Another page begins at its top.
  useSignalEffect(() => {
    if (rawPath.value) scrollTo(0, 0);
  });
  if (error.value) return <Notice kind="bad">{error.value}</Notice>;
  if (!apps.value) return null;
  return (
    <div class="frame">
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <Navigation />
      <main id="main" key={rawPath.value}>
        {appName.value !== undefined && !currentApp.value ? <NotFound /> : pageOf(rawPath.value)}
      </main>
      <Confirmation />
    </div>
  );
}
