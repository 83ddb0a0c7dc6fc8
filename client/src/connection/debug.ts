/** Lines for the option `debug`: what happens, without tokens, keys and payloads. */
import { safely } from "../events/emitter.ts";
import type { Frame } from "../events/frames.ts";
import type { Status } from "../events/types.ts";
import type { ConnectionOptions, TokenSource } from "./options.ts";

export type Debug = ((line: string) => void) | undefined;

export function debugOf({ debug }: ConnectionOptions): Debug {
  const log = debug === true ? (line: string) => console.log(`parley: ${line}`) : debug;
  return log ? (line) => safely(() => log(line)) : undefined;
}

export const frameLine = (way: string, { type, channel, code }: Partial<Frame>): string =>
  [way, type, channel, code].filter(Boolean).join(" ");

export const statusLine = ({ state, error }: Status): string =>
  error ? `${state} ${error.code}: ${error.message}` : state;

export const traced =
  (get: TokenSource, debug: Debug): TokenSource =>
  (request) => {
    debug?.(`token: ${request.reason}`);
    return get(request);
  };
