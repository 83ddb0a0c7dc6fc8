/** For tests: a page that every active channel is on, and no rate that it is charged to. */
import type { ChannelsPage } from "../../engine/engine.ts";
import { parseGlob } from "../../protocol/patterns/glob.ts";
import { Scope } from "../../protocol/patterns/scope.ts";

export const scopeOf = (...patterns: readonly string[]): Scope =>
  new Scope(patterns.map(parseGlob).filter((glob) => typeof glob !== "string"));

export const ALL_CHANNELS: ChannelsPage = { prefix: "", limit: 1000, scope: scopeOf("**") };

export const UNCHARGED = (): void => undefined;
