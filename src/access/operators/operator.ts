/** Who uses the control plane: the holder of the admin token, or an operator with a token of their own. */

/** `read` sees everything but secrets and payloads, and changes nothing. */
export type Role = "admin" | "read";

/** The name of the holder of the admin token. No other operator can have it. */
export const ADMIN_NAME = "admin";

/** Names under which the audit records the changes of others: the admin token, applications, their secret keys, and commands. */
const RESERVED_NAME = /^(admin|application secret|command line|sk_id_.*)$/;

/** Compared without regard to upper and lower case, or to letters that only look wider: people must not confuse them either. */
export const isReservedName = (name: string): boolean => RESERVED_NAME.test(name.normalize("NFKC").toLowerCase());

export interface Operator {
  /** `admin` for the admin token, else the operator's name: it is written into the audit. */
  readonly name: string;
  readonly role: Role;
  /** Ends when the session or the token is revoked, on any node: long responses such as the tail end with it. */
  readonly revoked: AbortSignal;
}
