/** Starts the dashboard: finds out who is signed in, then draws the sign-in form or the pages. */
import { render } from "preact";
import { sessions } from "./api/client.ts";
import type { Session } from "./api/types.ts";
import { Dashboard } from "./dashboard.tsx";
import { followLinks } from "./lib/router.ts";
import { followOtherTabs, hasSignedIn, signedIn, signedOut } from "./lib/session.ts";

followLinks();
followOtherTabs(window);
const root = document.getElementById("app");
if (root) {
  if (hasSignedIn()) await sessions.current<Session>().then(signedIn, () => signedOut());
  else signedOut();
  render(<Dashboard />, root);
}
