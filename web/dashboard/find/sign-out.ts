/** Ends the session, in all tabs of the browser. */
import { sessions } from "../api/client.ts";
import { signedOut } from "../api/session.ts";
import { messageOf, toast } from "../ui/notice.tsx";

export async function signOut(): Promise<void> {
  try {
    await sessions.close();
    signedOut();
  } catch (error) {
    toast(messageOf(error), "bad");
  }
}
