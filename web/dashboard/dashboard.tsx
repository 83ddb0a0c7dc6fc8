/** The frame: navigation beside the page that the address names, or the sign-in form. */
import { useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { rawPath } from "./address/router.ts";
import { session } from "./api/session.ts";
import { followPaletteKeys, isPaletteOpen } from "./find/palette-open.ts";
import { appName, apps, appsError, currentApp, followApps } from "./live/apps.ts";
import { Navigation } from "./navigation.tsx";
import { NoApplication } from "./pages/not-found.tsx";
import { SignIn } from "./pages/sign-in.tsx";
import { loadAhead, pageOf } from "./routes.tsx";
import { Later, script } from "./scripts/later.tsx";
import { Confirmation } from "./ui/dialog.tsx";
import { Toasts } from "./ui/notice.tsx";
import { Page } from "./ui/page.tsx";

/** The page that was asked for, and its data, come first. */
const AHEAD_AFTER_MS = 2000;

const palette = script(() => import("./scripts/palette.ts"));
const NOWHERE = {};

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
  useEffect(followApps, []);
  useEffect(() => {
    const timer = setTimeout(loadAhead, AHEAD_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  useEffect(followPaletteKeys, []);
  // Another page begins at its top.
  useSignalEffect(() => {
    if (rawPath.value) scrollTo(0, 0);
  });
  if (!apps.value)
    return (
      <main class="alone">
        <Page title="Dashboard" isReady={false} error={appsError.value} />
      </main>
    );
  return (
    <div class="frame">
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <Navigation />
      <main id="main" key={rawPath.value}>
        {appName.value !== undefined && !currentApp.value ? (
          <NoApplication name={appName.value} />
        ) : (
          pageOf(rawPath.value)
        )}
      </main>
      <Confirmation />
      {isPaletteOpen.value && <Later script={palette} find={() => palette.pages()?.Palette} at={NOWHERE} />}
    </div>
  );
}
