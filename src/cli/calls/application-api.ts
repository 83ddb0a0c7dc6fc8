/** The API at an application's own host: rooms, access tokens, meetings, recordings. */
import type { Input } from "../line/input.ts";
import { applicationServer, type Server } from "./client.ts";
import { givenAppSecret } from "./credentials.ts";
import { foundAppSecret } from "./found-credentials.ts";

export const applicationApi = (input: Input): Server =>
  applicationServer(input, givenAppSecret(input) ?? (() => foundAppSecret(input)));

/** The same, for calls that need no credential. */
export const openApplicationApi = (input: Input): Server => applicationServer(input, undefined);
