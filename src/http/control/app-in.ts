/** The application in the path of a control-plane call, by id or name. */
import type { Directory } from "../../access/keys/directory.ts";
import type { Keyring } from "../../access/keys/keyring.ts";
import type { AppRow } from "../../store/contract/store.ts";
import type { Call } from "../request/call.ts";

/** Throws `not_found`. */
export type AppIn = (call: Call) => Promise<AppRow>;

/** From memory, so that live lists need no store. The store knows applications that another node has made a moment ago. */
export const makeAppIn =
  (keyring: Pick<Keyring, "app">, directory: Pick<Directory, "app">): AppIn =>
  async ({ params: { app = "" } }) =>
    keyring.app(app) ?? (await directory.app(app));
