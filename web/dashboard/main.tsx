/** Starts the dashboard: finds out who is signed in, then draws the sign-in form or the pages. */
import { render } from "preact";
import { followLinks, rawPath } from "./address/router.ts";
import { ApiError, sessions } from "./api/client.ts";
import { startTicking } from "./api/now.ts";
import { followOtherTabs, hasSignedIn, signedIn, signedOut } from "./api/session.ts";
import type { Session } from "./api/types.ts";
import { Dashboard } from "./dashboard.tsx";
import { loadAppsAhead } from "./live/apps.ts";
import { preload } from "./routes.tsx";
import "./scripts/shared.ts";
import { keepFocus } from "../focus/focus.ts";

const RETRY_MS = 2000;

followLinks();
startTicking();
followOtherTabs(window);
keepFocus();
const root = document.getElementById("app");
if (root) {
  if (hasSignedIn()) {
    preload(rawPath.value);
    loadAppsAhead();
    await findSession(root);
  } else signedOut();
  root.textContent = "";
  render(<Dashboard />, root);
}

/** A service that does not answer has not signed anyone out: the page tries until it knows. */
async function findSession(root: HTMLElement): Promise<void> {
  for (;;) {
    try {
      return signedIn(await sessions.current<Session>());
    } catch (error) {
      if (error instanceof ApiError && isRefusal(error.status)) return signedOut();
      root.textContent = "The service is not responding. This page tries again every two seconds.";
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

/** 4xx, except for a rate. */
function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 429;
}
