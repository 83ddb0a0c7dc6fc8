/** Addresses of backends that the service calls: the URL fields of rooms, and the endpoints of webhooks. */
import { WEBHOOK_HOST_MAX_CHARS, WEBHOOK_MAX_CHARS } from "./limits.ts";

/** As the parser finds it: slashes before the host do not count, and what is before the last @ is a user and a password. */
const HOST = /^https?:\/+(?:[^/?#]*@)?([^/?#]*)/i;

/** The host is bounded first: it is normalised as an international name, which takes seconds for a long pile of combining marks. */
export const isWebAddress = (text: string): boolean =>
  text.length <= WEBHOOK_MAX_CHARS &&
  (HOST.exec(text)?.[1] ?? "").length <= WEBHOOK_HOST_MAX_CHARS &&
  /^https?:\/\/[^\s\p{Cc}\\]+$/iu.test(text) &&
  text.isWellFormed() &&
  URL.canParse(text);

/** Without what often carries a credential: for those who see no secrets, and for the audit. */
export const maskedAddress = (text: string): string => `${isWebAddress(text) ? new URL(text).origin : ""}/…`;
