/** For those who follow members without being shown them: webhooks. */
import type { Member } from "./member.ts";

export interface MemberWatcher {
  /** Something of it may have changed on this node, or it is forgotten. MUST NOT throw. */
  changed(member: Member): void;
}
